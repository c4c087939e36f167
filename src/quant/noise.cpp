#include "quant/noise.h"

#include <cmath>
#include <limits>

namespace heed {

void Noise::count(std::span<const float> exact, const IntegerMatrix& rounded) {
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
