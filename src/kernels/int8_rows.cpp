#include "kernels/int8_rows.h"

#include <algorithm>
#include <cmath>

namespace heed {

float quantize_row(std::span<const float> row, std::span<int8_t> values) {
  float largest = 0.0F;
  for (const float x : row) {
    largest = std::max(largest, std::abs(x));
  }
  const float inverse = largest > 0.0F ? 127.0F / largest : 0.0F;
  std::ranges::transform(row, values.begin(),
                         [&](float x) { return static_cast<int8_t>(std::nearbyint(x * inverse)); });
  return largest / 127.0F;
}

}  // namespace heed
