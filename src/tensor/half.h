// The 16-bit floating type of files: 5 bits of exponent, 11 of significand.
#pragma once

#include <cstdint>

namespace heed {

constexpr float kLargestHalf = 65504.0F;

// To nearest, ties to even. |x| must round to at most kLargestHalf.
uint16_t half_from(float x);
float from_half(uint16_t half);

}  // namespace heed
