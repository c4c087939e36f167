// Rows of a matrix as whole numbers with scales.
#pragma once

#include <cstdint>
#include <span>

namespace heed {

// values = round(row / scale) with the returned scale, max |row| / 127; ties go to even. A row of zeros has the scale 0.
float quantize_row(std::span<const float> row, std::span<int8_t> values);

constexpr int64_t kInt4Group = 32;  // values that share a scale

// Values from -8 to 7, and a scale for each group of kInt4Group, which bf16 represents: of those that nearly reach the
// group's largest magnitude, the one with the least squared error. The row's length is a whole number of groups.
void quantize_row_in_groups(std::span<const float> row, std::span<int8_t> values, std::span<float> scales);

}  // namespace heed
