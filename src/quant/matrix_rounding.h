// Weights in the forms in which a model directory stores them.
#pragma once

#include <optional>

#include "base/system/threads.h"
#include "heed/types/quantize.h"
#include "quant/static_int8.h"
#include "tensor_files/safetensors.h"

namespace heed {

// One weight, in the form in which it is written.
struct RoundedWeight {
  std::vector<std::byte> bytes;
  std::vector<int64_t> shape;  // of `bytes`, in elements of the stored type
  // For integers, which are in panels:
  std::vector<std::byte> scales;
  StoredType type_of_scales = StoredType::f32;
  std::vector<int64_t> shape_of_scales;
  std::vector<std::byte> sums;         // of int8, with as many values as scales
  std::vector<std::byte> input_scale;  // of int8-static

  size_t size() const { return bytes.size() + scales.size() + sums.size() + input_scale.size(); }
};

// What a calibration text gave.
struct Calibrated {
  Backend& backend;
  ThreadPool& pool;
  const InputsByWeight& inputs;
  const StaticPlan& static_plan;
};

class MatrixRounding {
 public:
  // `group` is that of int4. Nothing is known about the inputs where nothing was calibrated.
  MatrixRounding(int64_t group, const Calibrated* calibrated) : group_(group), calibrated_(calibrated) {}

  // Fills in what `matrix`, whose type is set, says of errors and outliers.
  RoundedWeight round(const Weight& weight, const std::vector<float>& values, QuantizedMatrix& matrix,
                      Noise& noise) const;

 private:
  const ProductInputs* inputs_of(const Weight& weight) const;
  RoundedWeight to_int8(const Weight& weight, std::span<const float> values, QuantizedMatrix& matrix,
                        Noise& noise) const;
  RoundedWeight to_int8_groups(const Weight& weight, std::span<const float> values, QuantizedMatrix& matrix,
                               Noise& noise) const;
  RoundedWeight to_int4(const Weight& weight, std::span<const float> values, QuantizedMatrix& matrix,
                        Noise& noise) const;

  int64_t group_;
  const Calibrated* calibrated_;
};

// As they are.
RoundedWeight unrounded(const std::vector<float>& values, const Shape& shape);

}  // namespace heed
