// Which 16-bit floating type some bits are of.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace heed {

enum class HalfType : uint8_t { bf16, f16 };

constexpr float from_bits(HalfType type, uint16_t bits) {
  return type == HalfType::f16 ? widened_half(bits) : widened_bf16(bits);
}

// To nearest, ties to even. As f16, |x| must round to at most 65,504.
inline uint16_t to_bits(HalfType type, float x) { return type == HalfType::f16 ? narrowed_half(x) : bf16(x).bits; }

}  // namespace heed
