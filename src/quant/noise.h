// What rounding a matrix changes.
#pragma once

#include <span>

#include "nn/weights/integer_matrix.h"

namespace heed {

// The squares of a matrix's values, and of what rounding changed.
struct Noise {
  double signal = 0.0, noise = 0.0;

  void count(float exact, float rounded) {
    const double difference = static_cast<double>(exact) - static_cast<double>(rounded);
    signal += static_cast<double>(exact) * static_cast<double>(exact);
    noise += difference * difference;
  }
  void count(std::span<const float> exact, const IntegerMatrix& rounded);
  void count(std::span<const float> exact, std::span<const float> rounded);
  Noise& operator+=(const Noise& other);
  double decibels() const;  // 10 log10(signal / noise); infinite where nothing changed
};

}  // namespace heed
