#include "kernels/reference/values.h"

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
    : Values(weight.packed == nullptr ? weight.matrix
                                      : static_cast<const PackedMatrix*>(weight.packed)->matrix.view()) {}

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

Values affine(const Values& x, const Values& weight, const Values& bias) {
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
