#include "kernels/reference/values.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"

namespace heed::reference {

double get(const View& view, int64_t row, int64_t column) {
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

const PackedInt8& int8_of(const WeightView& weight) { return static_cast<const PackedInt8&>(*weight.packed); }

}  // namespace

Values::Values(int64_t rows, int64_t columns)
    : rows_(rows), columns_(columns), elements_(static_cast<size_t>(rows * columns), 0.0) {}

Values::Values(const View& view) : Values(view.rows(), view.columns()) {
  for (int64_t r = 0; r < rows_; ++r) {
    for (int64_t c = 0; c < columns_; ++c) {
      (*this)(r, c) = get(view, r, c);
    }
  }
}

Values::Values(const WeightView& weight)
    : Values(weight.packed == nullptr               ? weight.matrix
             : weight.packed->format() == DType::i8 ? int8_of(weight).values.view()
                                                    : static_cast<const PackedMatrix*>(weight.packed)->matrix.view()) {
  if (weight.packed != nullptr && weight.packed->format() == DType::i8) {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < columns_; ++c) {
        (*this)(r, c) *= get(int8_of(weight).scales.view(), 0, r);
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

PackedInt8::PackedInt8(const Int8Matrix& from)
    : PackedWeight(from.shape.rows(), from.shape.columns(), DType::i8),
      values(from.shape, DType::i8),
      scales({from.shape.rows()}, DType::f32) {
  write(Values(from.values(0, rows())), values.view());
  write(Values(from.scales), scales.view());
}

// In float, as the kernels compute it: all of them round alike.
//   s[r] = max |x[r, :]| / 127    q[r, k] = round(x[r, k] * (127 / max))    y[r, c] = (sum over k of q v) (s[r] t[c])
Values affine_of_int8(const View& x, const PackedInt8& weight, const Values& bias) {
  Values y(x.rows(), weight.rows());
  for (int64_t r = 0; r < x.rows(); ++r) {
    float largest = 0.0F;
    for (int64_t k = 0; k < x.columns(); ++k) {
      largest = std::max(largest, std::abs(static_cast<float>(get(x, r, k))));
    }
    const float inverse = largest > 0.0F ? 127.0F / largest : 0.0F;
    for (int64_t c = 0; c < weight.rows(); ++c) {
      double sum = 0.0;
      for (int64_t k = 0; k < x.columns(); ++k) {
        sum += std::nearbyint(static_cast<float>(get(x, r, k)) * inverse) * get(weight.values.view(), c, k);
      }
      const float scale = largest / 127.0F * static_cast<float>(get(weight.scales.view(), 0, c));
      y(r, c) = static_cast<double>(static_cast<float>(sum) * scale);
      if (!bias.empty()) {
        y(r, c) += bias(bias.rows() > 1 ? r : 0, c);
      }
    }
  }
  return y;
}

Values affine(const View& from, const WeightView& view, const Values& bias) {
  if (view.packed != nullptr && view.packed->format() == DType::i8) {
    return affine_of_int8(from, int8_of(view), bias);
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
