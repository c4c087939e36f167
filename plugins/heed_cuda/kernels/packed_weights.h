// Weights that products read, in the device's memory.
#pragma once

#include "kernels/calls/weight.h"
#include "tensor/tensor.h"

namespace heed::cuda {

// Elements in f32 or bf16, row by row; rows begin at multiples of 16 bytes.
struct PackedFloats final : PackedWeight {
  PackedFloats(const Shape& shape, DType type, Arena& arena);
  int64_t bytes() const override { return memory.bytes(); }
  ConstView view() const { return memory.view().column_range(0, columns()); }

  Tensor memory;
};

}  // namespace heed::cuda
