// A matrix of doubles, read from a view of any type and written back to one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/calls/weight.h"
#include "kernels/calls/write.h"
#include "kernels/dropout.h"
#include "kernels/half_panels.h"
#include "kernels/integer_panels.h"

namespace heed::reference {

// The only code that looks at element types.
double get(const ConstView& view, int64_t row, int64_t column);
void set(const View& view, int64_t row, int64_t column, double value);

struct PackedMatrix final : PackedWeight {
  PackedMatrix(const Shape& shape, DType format) : PackedWeight(shape.rows(), shape.columns()), matrix(shape, format) {}
  explicit PackedMatrix(const HalfPanels& from);  // in f32, which holds the values exactly
  PackedMatrix(const PackedMatrix& from, std::span<const int32_t> rows);
  int64_t bytes() const override { return matrix.bytes(); }

  Tensor matrix;
};

// Integers, with a scale for each group of a row: in plain int8 the row is one group.
struct PackedIntegers final : PackedWeight {
  explicit PackedIntegers(const Int8Matrix& from);
  explicit PackedIntegers(const Int8GroupMatrix& from);
  explicit PackedIntegers(const Int4Matrix& from);
  explicit PackedIntegers(const Int8Panels& from);
  explicit PackedIntegers(const Int8GroupPanels& from);
  explicit PackedIntegers(const Int4Panels& from);
  PackedIntegers(const PackedIntegers& from, std::span<const int32_t> rows);
  int64_t group() const { return columns() / scales.shape()[1]; }
  int64_t bytes() const override { return values.bytes() + scales.bytes(); }
  bool holds_integers() const override { return true; }

  Tensor values, scales;
  float input_scale = 0.0F;  // 0: each row has its own
  bool in_groups = false;    // each group's sum is scaled before they are added
};

class Values {
 public:
  Values(int64_t rows, int64_t columns);   // zeros
  explicit Values(const ConstView& view);  // from an empty view: no rows, no columns
  explicit Values(const WeightView& weight);

  bool empty() const { return elements_.empty(); }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  double& operator()(int64_t r, int64_t c) { return elements_[static_cast<size_t>(r * columns_ + c)]; }
  double operator()(int64_t r, int64_t c) const { return elements_[static_cast<size_t>(r * columns_ + c)]; }

 private:
  int64_t rows_, columns_;
  std::vector<double> elements_;
};

// view (+)= values. Nothing is written to an empty view.
void write(const Values& values, const View& view, Write how = Write::overwrite);

// x W^T + b; `bias` may be empty. Where W is in int8, the rows of x are quantized first.
Values affine(const ConstView& x, const WeightView& weight, const Values& bias);

// values[r, c] *= the dropout factor of (r, c).
void drop(Values& values, const Dropout& dropout);

}  // namespace heed::reference
