// Values of 16-bit floating types, fast enough for whole models.
#pragma once

#include <bit>
#include <cstdint>

namespace heed {

// From 5 bits of exponent and 11 of significand, without a branch: the exponent's bias differs by 112.
constexpr float widened_half(uint16_t half) {
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fffU) << 13U;
  const auto scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  const uint32_t infinite = magnitude >= 0x0f800000U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(scaled | infinite | static_cast<uint32_t>(half & 0x8000U) << 16U);
}

// The other way round, to nearest, ties to even, for |x| that rounds to at most 65,504. Adding 0.5 rounds numbers below
// the smallest normal one to their last bit.
inline uint16_t narrowed_half(float x) {
  const auto bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffU;
  const uint32_t normal = (magnitude + 0xfffU + (magnitude >> 13U & 1U) - 0x38000000U) >> 13U;
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  return static_cast<uint16_t>((bits >> 16U & 0x8000U) | (magnitude < 0x38800000U ? small : normal));
}

constexpr float widened_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U); }

}  // namespace heed
