#include "tensor/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace heed {
namespace {

constexpr int kMantissaBits = 10, kExponentBias = 15, kSmallestExponent = -14;
constexpr uint32_t kMantissa = (1U << kMantissaBits) - 1, kExponents = 31;

}  // namespace

uint16_t half_from(float x) {
  const uint32_t sign = std::bit_cast<uint32_t>(x) >> 31 << 15;
  const float magnitude = std::abs(x);
  if (magnitude == 0.0F) {
    return static_cast<uint16_t>(sign);
  }
  const int exponent = std::max(std::ilogb(magnitude), kSmallestExponent);
  // In units of the last place. Rounding up to the next power of two, or to the smallest normal number, carries into
  // the exponent by itself.
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, kMantissaBits - exponent)));
  const auto above_subnormal = static_cast<uint32_t>(exponent - kSmallestExponent) << kMantissaBits;
  return static_cast<uint16_t>(sign | (above_subnormal + units));
}

float from_half(uint16_t half) {
  const uint32_t exponent = half >> kMantissaBits & kExponents, mantissa = half & kMantissa;
  float magnitude = 0.0F;
  if (exponent == kExponents) {
    magnitude = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), kSmallestExponent - kMantissaBits);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa | (kMantissa + 1)),
                           static_cast<int>(exponent) - kExponentBias - kMantissaBits);
  }
  return (half & 0x8000U) != 0 ? -magnitude : magnitude;
}

}  // namespace heed
