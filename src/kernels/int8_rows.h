// Rows of a matrix as 8-bit integers.
#pragma once

#include <cstdint>
#include <span>

namespace heed {

// values = round(row / scale) with the returned scale, max |row| / 127; ties go to even. A row of zeros has the scale 0.
float quantize_row(std::span<const float> row, std::span<int8_t> values);

}  // namespace heed
