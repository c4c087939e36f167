#include "tensor/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tensor/float16.h"

namespace heed {
namespace {

constexpr int kMantissaBits = 10, kSmallestExponent = -14;

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

float from_half(uint16_t half) { return widened_half(half); }

}  // namespace heed
