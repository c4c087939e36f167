#include "nn/weights/integer_matrix.h"

#include "kernels/integer_rows.h"

namespace heed {
namespace {

RowSource rows_of(const IntegerMatrix& matrix) {
  return [&matrix, columns = matrix.shape.columns()](int64_t first, int64_t count) {
    return ConstView(matrix.values.data() + first * columns, DType::i8, count, columns, columns);
  };
}

// Each group by `quantize`, which returns its scale.
template <class Quantize>
IntegerMatrix in_groups(std::span<const float> values, const Shape& shape, int64_t group, Quantize quantize) {
  IntegerMatrix rounded{shape, std::vector<int8_t>(values.size()), {}};
  const auto at_once = static_cast<size_t>(group);
  rounded.scales.reserve(values.size() / at_once);
  for (size_t first = 0; first < values.size(); first += at_once) {
    rounded.scales.push_back(
        quantize(values.subspan(first, at_once), std::span(rounded.values).subspan(first, at_once)));
  }
  return rounded;
}

ConstView scales_of(const IntegerMatrix& matrix, int64_t rows, int64_t columns) {
  return {matrix.scales.data(), DType::f32, rows, columns, columns};
}

}  // namespace

Int8Matrix IntegerMatrix::as_int8(float input_scale) const {
  return {shape, rows_of(*this), scales_of(*this, 1, shape.rows()), input_scale};
}

Int8GroupMatrix IntegerMatrix::as_int8_groups() const {
  return {shape, rows_of(*this), scales_of(*this, shape.rows(), groups())};
}

Int4Matrix IntegerMatrix::as_int4() const { return {shape, rows_of(*this), scales_of(*this, shape.rows(), groups())}; }

IntegerMatrix IntegerMatrix::in_small_groups() const {
  IntegerMatrix small{shape, values, {}};
  small.scales.reserve(values.size() / kInt4Group);
  for (size_t i = 0; i < values.size(); i += kInt4Group) {
    small.scales.push_back(scales[i / static_cast<size_t>(group())]);
  }
  return small;
}

IntegerMatrix to_int8(std::span<const float> values, const Shape& shape) {
  const auto columns = static_cast<size_t>(shape.columns());
  IntegerMatrix rounded{shape, std::vector<int8_t>(values.size()), {}};
  rounded.scales.reserve(static_cast<size_t>(shape.rows()));
  for (size_t first = 0; first < values.size(); first += columns) {
    rounded.scales.push_back(
        quantize_row(values.subspan(first, columns), std::span(rounded.values).subspan(first, columns)));
  }
  return rounded;
}

IntegerMatrix to_int8_groups(std::span<const float> values, const Shape& shape) {
  return in_groups(values, shape, kInt8Group, quantize_int8_group);
}

IntegerMatrix to_int4(std::span<const float> values, const Shape& shape, int64_t group) {
  return in_groups(values, shape, group, quantize_group);
}

}  // namespace heed
