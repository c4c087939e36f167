// Matrices rounded to integers with scales.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace heed {

// W[r, c] = scales[r, c / group] values[r, c]; in plain int8 a row is one group.
struct IntegerMatrix {
  Shape shape;
  std::vector<int8_t> values;
  std::vector<float> scales;  // row by row

  int64_t groups() const { return static_cast<int64_t>(scales.size()) / shape.rows(); }
  int64_t group() const { return shape.columns() / groups(); }
  float value(size_t index) const {
    return scales[index / static_cast<size_t>(group())] * static_cast<float>(values[index]);
  }

  // As a backend packs them; the views refer to this. An input scale of 0: each row of inputs has its own.
  Int8Matrix as_int8(float input_scale = 0.0F) const;
  Int8GroupMatrix as_int8_groups() const;  // in groups of kInt8Group
  Int4Matrix as_int4() const;              // in groups of kInt4Group
  IntegerMatrix in_small_groups() const;   // the same values in groups of kInt4Group
};

IntegerMatrix to_int8(std::span<const float> values, const Shape& shape);
// kInt8Group divides the rows' length, and no value is beyond 127 times what f16 reaches.
IntegerMatrix to_int8_groups(std::span<const float> values, const Shape& shape);
// `group` is kInt4Group or kLargeInt4Group, and divides the rows' length.
IntegerMatrix to_int4(std::span<const float> values, const Shape& shape, int64_t group);

}  // namespace heed
