#include "quant/product_error.h"

#include <algorithm>

#include "kernels/calls/linear.h"

namespace heed {
namespace {

constexpr int64_t kRowsAtOnce = 64;

void multiply_rows(Backend& backend, const ConstView& x, const PackedWeight& weight, const View& y) {
  backend.linear({.x = x, .weight = {{}, &weight}, .bias = {}, .dropout = {}, .y = y, .before = {}});
}

}  // namespace

Noise product_noise(Backend& backend, const InputRows& inputs, const PackedWeight& exact, const PackedWeight& rounded) {
  Noise noise;
  const int64_t outputs = exact.rows();
  Tensor expected({kRowsAtOnce, outputs}, DType::f32), found({kRowsAtOnce, outputs}, DType::f32);
  for (int64_t first = 0; first < inputs.rows(); first += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, inputs.rows() - first);
    const ConstView x(inputs.values.data() + first * inputs.columns, DType::f32, count, inputs.columns, inputs.columns);
    multiply_rows(backend, x, exact, expected.view().row_range(0, count));
    multiply_rows(backend, x, rounded, found.view().row_range(0, count));
    const auto values = static_cast<size_t>(count * outputs);
    noise.count(std::span<const float>(expected.data<float>(), values),
                std::span<const float>(found.data<float>(), values));
  }
  return noise;
}

std::unique_ptr<PackedWeight> packed_f32(Backend& backend, std::span<const float> values, const Shape& shape) {
  return backend.pack_matrix(ConstView(values.data(), DType::f32, shape.rows(), shape.columns(), shape.columns()));
}

}  // namespace heed
