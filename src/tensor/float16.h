// Values of 16-bit floating types, fast enough for whole models.
#pragma once

#include <bit>
#include <cstdint>

namespace heed {

// From 5 bits of exponent and 11 of significand, without a branch: the exponent's bias differs by 112.
inline float widened_half(uint16_t half) {
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fffU) << 13U;
  const auto scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  const uint32_t infinite = magnitude >= 0x0f800000U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(scaled | infinite | static_cast<uint32_t>(half & 0x8000U) << 16U);
}

inline float widened_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U); }

}  // namespace heed
