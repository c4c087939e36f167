// Matrices rounded to whole numbers with scales.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace heed {

// W[r, c] = scales[r, c / group] values[r, c]; in int8 a row is one group.
struct WholeNumbers {
  Shape shape;
  std::vector<int8_t> values;
  std::vector<float> scales;  // row by row

  int64_t groups() const { return static_cast<int64_t>(scales.size()) / shape.rows(); }
  int64_t group() const { return shape.columns() / groups(); }
  float value(size_t index) const {
    return scales[index / static_cast<size_t>(group())] * static_cast<float>(values[index]);
  }
  RowSource rows() const;
};

WholeNumbers to_int8(std::span<const float> values, const Shape& shape);
// `group` is kInt4Group or kLargeInt4Group, and divides the rows' length.
WholeNumbers to_int4(std::span<const float> values, const Shape& shape, int64_t group);

// Packed as inference holds them. An input scale of 0: each row of inputs has its own.
std::unique_ptr<PackedWeight> packed_int8(Backend& backend, const WholeNumbers& matrix, float input_scale);
std::unique_ptr<PackedWeight> packed_int4(Backend& backend, const WholeNumbers& matrix);

// The squares of a matrix's values, and of what rounding changed.
struct Noise {
  double signal = 0.0, noise = 0.0;

  void count(float exact, float rounded) {
    const double difference = static_cast<double>(exact) - static_cast<double>(rounded);
    signal += static_cast<double>(exact) * static_cast<double>(exact);
    noise += difference * difference;
  }
  void count(std::span<const float> exact, const WholeNumbers& rounded);
  void count(std::span<const float> exact, std::span<const float> rounded);
  Noise& operator+=(const Noise& other);
  double decibels() const;  // 10 log10(signal / noise); infinite where nothing changed
};

}  // namespace heed
