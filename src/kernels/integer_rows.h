// Rows of a matrix as integers with scales.
#pragma once

#include <cstdint>
#include <span>

namespace heed {

// Rows of which no value is larger become zeros: 127 over it would overflow.
constexpr float kLeastMagnitude = 1e-36F;

// values = round(row / scale) with the returned scale, max |row| / 127; ties go to even. A row of zeros has the scale
// 0.
float quantize_row(std::span<const float> row, std::span<int8_t> values);

constexpr int64_t kInt8Group = 32;  // values that share a scale, where a row has more than one

constexpr int64_t kInt4Group = 32;       // values that share a scale
constexpr int64_t kLargeInt4Group = 64;  // two groups with the same scale

// values = round(x / scale) with the returned scale, max |group| / 127, which f16 represents. With a scale that f16
// rounds to 0 they are zeros. It must not be more than f16 reaches.
float quantize_int8_group(std::span<const float> group, std::span<int8_t> values);

// The scale of a group of values from -8 to 7, which bf16 represents: of those that nearly reach the group's largest
// magnitude, the one with the least squared error. Of zeros it is 0.
float int4_scale(std::span<const float> group);
// round(x / scale), from -8 to 7; with the scale 0 it is 0.
int8_t rounded_to_int4(float x, float scale);
// Both, of a group of any size; returns the scale.
float quantize_group(std::span<const float> group, std::span<int8_t> values);

}  // namespace heed
