// How far a product with a rounded matrix is from the exact one, measured on inputs that a calibration text gave.
#pragma once

#include <span>

#include "kernels/kernels.h"
#include "quant/noise.h"

namespace heed {

// Rows of inputs, end to end.
struct InputRows {
  std::span<const float> values;
  int64_t columns = 0;

  int64_t rows() const { return static_cast<int64_t>(values.size()) / columns; }
};

// The squares of exact outputs, and of the differences from them, with the kernels that inference runs.
Noise product_noise(Backend& backend, const InputRows& inputs, const PackedWeight& exact, const PackedWeight& rounded);

// A matrix in f32, packed.
std::unique_ptr<PackedWeight> packed_f32(Backend& backend, std::span<const float> values, const Shape& shape);

}  // namespace heed
