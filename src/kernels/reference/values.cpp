#include "kernels/reference/values.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "kernels/integer_rows.h"

namespace heed::reference {

double get(const ConstView& view, int64_t row, int64_t column) {
  switch (view.type()) {
    case DType::f64:
      return host<double>(view)(row, column);
    case DType::f32:
      return static_cast<double>(host<float>(view)(row, column));
    case DType::bf16:
      return static_cast<double>(static_cast<float>(host<bf16>(view)(row, column)));
    case DType::i32:
      return host<int32_t>(view)(row, column);
    case DType::i8:
      return host<int8_t>(view)(row, column);
  }
  fail<InternalError>("reference", "{} has elements of no known type", view.text());
}

void set(const View& view, int64_t row, int64_t column, double value) {
  switch (view.type()) {
    case DType::f64:
      host<double>(view)(row, column) = value;
      return;
    case DType::f32:
      host<float>(view)(row, column) = static_cast<float>(value);
      return;
    case DType::bf16:
      host<bf16>(view)(row, column) = bf16(static_cast<float>(value));
      return;
    case DType::i32:
      host<int32_t>(view)(row, column) = static_cast<int32_t>(std::lround(value));
      return;
    case DType::i8:
      host<int8_t>(view)(row, column) = static_cast<int8_t>(std::lround(value));
      return;
  }
}

namespace {

// Null of a weight that does not hold integers.
const PackedIntegers* integers_of(const WeightView& weight) {
  return dynamic_cast<const PackedIntegers*>(weight.packed);
}

ConstView elements_of(const WeightView& weight) {
  if (const PackedIntegers* const integers = integers_of(weight)) {
    return integers->values.view();
  }
  return weight.packed == nullptr ? weight.matrix : static_cast<const PackedMatrix*>(weight.packed)->matrix.view();
}

}  // namespace

Values::Values(int64_t rows, int64_t columns)
    : rows_(rows), columns_(columns), elements_(static_cast<size_t>(rows * columns), 0.0) {}

Values::Values(const ConstView& view) : Values(view.rows(), view.columns()) {
  for (int64_t r = 0; r < rows_; ++r) {
    for (int64_t c = 0; c < columns_; ++c) {
      (*this)(r, c) = get(view, r, c);
    }
  }
}

Values::Values(const WeightView& weight) : Values(elements_of(weight)) {
  if (const PackedIntegers* const integers = integers_of(weight)) {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < columns_; ++c) {
        (*this)(r, c) *= get(integers->scales.view(), r, c / integers->group());
      }
    }
  }
}

void write(const Values& values, const View& view, Write how) {
  if (view.empty()) {
    return;
  }
  for (int64_t r = 0; r < view.rows(); ++r) {
    for (int64_t c = 0; c < view.columns(); ++c) {
      set(view, r, c, how == Write::add ? get(view, r, c) + values(r, c) : values(r, c));
    }
  }
}

PackedMatrix::PackedMatrix(const HalfPanels& from) : PackedMatrix(from.shape, DType::f32) {
  for (int64_t r = 0; r < rows(); ++r) {
    for (int64_t c = 0; c < columns(); ++c) {
      set(matrix.view(), r, c, from.value(r, c));
    }
  }
}

namespace {

void copy_rows(const Tensor& from, std::span<const int32_t> rows, const Tensor& to) {
  for (int64_t r = 0; r < to.view().rows(); ++r) {
    for (int64_t c = 0; c < to.view().columns(); ++c) {
      set(to.view(), r, c, get(from.view(), rows[static_cast<size_t>(r)], c));
    }
  }
}

template <class GroupPanels>
void read_groups(const GroupPanels& from, const PackedIntegers& to) {
  for (int64_t r = 0; r < to.rows(); ++r) {
    for (int64_t c = 0; c < to.columns(); ++c) {
      set(to.values.view(), r, c, from.value(r, c));
      set(to.scales.view(), r, c / to.group(), from.scale(r, c));
    }
  }
}

}  // namespace

PackedMatrix::PackedMatrix(const PackedMatrix& from, std::span<const int32_t> rows)
    : PackedMatrix({static_cast<int64_t>(rows.size()), from.columns()}, from.matrix.type()) {
  copy_rows(from.matrix, rows, matrix);
}

PackedIntegers::PackedIntegers(const PackedIntegers& from, std::span<const int32_t> rows)
    : PackedWeight(static_cast<int64_t>(rows.size()), from.columns()),
      values({static_cast<int64_t>(rows.size()), from.columns()}, from.values.type()),
      scales({static_cast<int64_t>(rows.size()), from.scales.shape()[1]}, from.scales.type()),
      input_scale(from.input_scale),
      in_groups(from.in_groups) {
  copy_rows(from.values, rows, values);
  copy_rows(from.scales, rows, scales);
}

PackedIntegers::PackedIntegers(const Int8Matrix& from)
    : PackedWeight(from.shape.rows(), from.shape.columns()),
      values(from.shape, DType::i8),
      scales({from.shape.rows(), 1}, DType::f32),
      input_scale(from.input_scale) {
  write(Values(from.values(0, rows())), values.view());
  for (int64_t r = 0; r < rows(); ++r) {
    set(scales.view(), r, 0, get(from.scales, 0, r));
  }
}

PackedIntegers::PackedIntegers(const Int8GroupMatrix& from)
    : PackedWeight(from.shape.rows(), from.shape.columns()),
      values(from.shape, DType::i8),
      scales({from.shape.rows(), from.scales.columns()}, DType::f32),
      in_groups(true) {
  write(Values(from.values(0, rows())), values.view());
  write(Values(from.scales), scales.view());
}

PackedIntegers::PackedIntegers(const Int4Matrix& from)
    : PackedWeight(from.shape.rows(), from.shape.columns()),
      values(from.shape, DType::i8),
      scales({from.shape.rows(), from.scales.columns()}, DType::f32),
      in_groups(true) {
  write(Values(from.values(0, rows())), values.view());
  write(Values(from.scales), scales.view());
}

PackedIntegers::PackedIntegers(const Int8Panels& from)
    : PackedWeight(from.shape.rows(), from.shape.columns()),
      values(from.shape, DType::i8),
      scales({from.shape.rows(), 1}, DType::f32),
      input_scale(from.input_scale) {
  for (int64_t r = 0; r < rows(); ++r) {
    set(scales.view(), r, 0, from.scales[r]);
    for (int64_t c = 0; c < columns(); ++c) {
      set(values.view(), r, c, from.value(r, c));
    }
  }
}

PackedIntegers::PackedIntegers(const Int8GroupPanels& from)
    : PackedWeight(from.shape.rows(), from.shape.columns()),
      values(from.shape, DType::i8),
      scales({from.shape.rows(), from.shape.columns() / kInt8Group}, DType::f32),
      in_groups(true) {
  read_groups(from, *this);
}

PackedIntegers::PackedIntegers(const Int4Panels& from)
    : PackedWeight(from.shape.rows(), from.shape.columns()),
      values(from.shape, DType::i8),
      scales({from.shape.rows(), from.shape.columns() / kInt4Group}, DType::f32),
      in_groups(true) {
  read_groups(from, *this);
}

// A row's integers and their scale, in float, as the kernels compute them: all of them round alike.
//   s = max |x| / 127    q[k] = round(x[k] * (127 / max))
//   s = input scale      q[k] = round(x[k] * (1 / s)), within +-127
struct QuantizedRow {
  QuantizedRow(const ConstView& x, int64_t row, float input_scale) : scale(input_scale) {
    float inverse = 1.0F / input_scale;
    if (input_scale <= 0.0F) {
      const float largest = largest_magnitude(x, row);
      inverse = largest > kLeastMagnitude ? 127.0F / largest : 0.0F;
      scale = largest / 127.0F;
    }
    values.reserve(static_cast<size_t>(x.columns()));
    for (int64_t k = 0; k < x.columns(); ++k) {
      const float scaled = static_cast<float>(get(x, row, k)) * inverse;
      values.push_back(std::nearbyint(std::clamp(scaled, -127.0F, 127.0F)));
    }
  }

  static float largest_magnitude(const ConstView& x, int64_t row) {
    float largest = 0.0F;
    for (int64_t k = 0; k < x.columns(); ++k) {
      largest = std::max(largest, std::abs(static_cast<float>(get(x, row, k))));
    }
    return largest;
  }

  std::vector<float> values;
  float scale = 0.0F;
};

// The product of a row and output c. The scales of whole rows are multiplied first; with groups that of x comes last.
float product(const QuantizedRow& x, const PackedIntegers& weight, int64_t c) {
  const int64_t group = weight.group();
  float total = 0.0F;
  for (int64_t first = 0; first < weight.columns(); first += group) {
    double sum = 0.0;
    for (int64_t k = first; k < first + group; ++k) {
      sum += static_cast<double>(x.values[static_cast<size_t>(k)]) * get(weight.values.view(), c, k);
    }
    const auto scale = static_cast<float>(get(weight.scales.view(), c, first / group));
    if (!weight.in_groups) {
      return static_cast<float>(sum) * (x.scale * scale);
    }
    total += static_cast<float>(sum) * scale;
  }
  return total * x.scale;
}

Values affine_of_integers(const ConstView& x, const PackedIntegers& weight, const Values& bias) {
  Values y(x.rows(), weight.rows());
  for (int64_t r = 0; r < x.rows(); ++r) {
    const QuantizedRow row(x, r, weight.input_scale);
    for (int64_t c = 0; c < weight.rows(); ++c) {
      y(r, c) = static_cast<double>(product(row, weight, c));
      if (!bias.empty()) {
        y(r, c) += bias(bias.rows() > 1 ? r : 0, c);
      }
    }
  }
  return y;
}

Values affine(const ConstView& from, const WeightView& view, const Values& bias) {
  if (const PackedIntegers* const integers = integers_of(view)) {
    return affine_of_integers(from, *integers, bias);
  }
  const Values x(from), weight(view);
  Values y(x.rows(), weight.rows());
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t out = 0; out < weight.rows(); ++out) {
      double sum = bias.empty() ? 0.0 : bias(bias.rows() > 1 ? r : 0, out);
      for (int64_t in = 0; in < x.columns(); ++in) {
        sum += x(r, in) * weight(out, in);
      }
      y(r, out) = sum;
    }
  }
  return y;
}

void drop(Values& values, const Dropout& dropout) {
  if (!dropout.active()) {
    return;
  }
  for (int64_t r = 0; r < values.rows(); ++r) {
    const RowRandom row = dropout.row(r);
    for (int64_t c = 0; c < values.columns(); ++c) {
      values(r, c) *= static_cast<double>(dropout.factor(row, static_cast<uint32_t>(c)));
    }
  }
}

}  // namespace heed::reference
