#include "quant/whole_numbers.h"

#include <cmath>
#include <limits>

#include "kernels/integer_rows.h"

namespace heed {

RowSource WholeNumbers::rows() const {
  return [this](int64_t first, int64_t count) {
    const int64_t columns = shape.columns();
    // A row source gives views that could be written, though nothing writes to a matrix that is packed.
    return View(const_cast<int8_t*>(values.data()) + first * columns, DType::i8, count, columns, columns);
  };
}

WholeNumbers to_int8(std::span<const float> values, const Shape& shape) {
  const auto columns = static_cast<size_t>(shape.columns());
  WholeNumbers whole{shape, std::vector<int8_t>(values.size()), {}};
  whole.scales.reserve(static_cast<size_t>(shape.rows()));
  for (size_t first = 0; first < values.size(); first += columns) {
    whole.scales.push_back(
        quantize_row(values.subspan(first, columns), std::span(whole.values).subspan(first, columns)));
  }
  return whole;
}

WholeNumbers to_int4(std::span<const float> values, const Shape& shape, int64_t group) {
  WholeNumbers whole{shape, std::vector<int8_t>(values.size()), {}};
  whole.scales.resize(values.size() / static_cast<size_t>(group));
  const auto at_once = static_cast<size_t>(group);
  for (size_t g = 0; g < whole.scales.size(); ++g) {
    whole.scales[g] =
        quantize_group(values.subspan(g * at_once, at_once), std::span(whole.values).subspan(g * at_once, at_once));
  }
  return whole;
}

std::unique_ptr<PackedWeight> packed_int8(Backend& backend, const WholeNumbers& matrix, float input_scale) {
  std::vector<float> scales = matrix.scales;
  const int64_t rows = matrix.shape.rows();
  return backend.pack(
      Int8Matrix{matrix.shape, matrix.rows(), View(scales.data(), DType::f32, 1, rows, rows), input_scale});
}

std::unique_ptr<PackedWeight> packed_int4(Backend& backend, const WholeNumbers& matrix) {
  const int64_t groups = matrix.shape.columns() / kInt4Group;
  std::vector<float> scales;
  scales.reserve(static_cast<size_t>(matrix.shape.rows() * groups));
  for (size_t i = 0; i < matrix.values.size(); i += kInt4Group) {
    scales.push_back(matrix.scales[i / static_cast<size_t>(matrix.group())]);
  }
  return backend.pack(
      Int4Matrix{matrix.shape, matrix.rows(), View(scales.data(), DType::f32, matrix.shape.rows(), groups, groups)});
}

void Noise::count(std::span<const float> exact, const WholeNumbers& rounded) {
  for (size_t i = 0; i < exact.size(); ++i) {
    count(exact[i], rounded.value(i));
  }
}

void Noise::count(std::span<const float> exact, std::span<const float> rounded) {
  for (size_t i = 0; i < exact.size(); ++i) {
    count(exact[i], rounded[i]);
  }
}

Noise& Noise::operator+=(const Noise& other) {
  signal += other.signal;
  noise += other.noise;
  return *this;
}

double Noise::decibels() const {
  return noise > 0.0 ? 10.0 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

}  // namespace heed
