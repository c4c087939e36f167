#include "kernels/integer_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace heed {
namespace {

constexpr float kLowest4 = -8.0F, kHighest4 = 7.0F;
// The share of a group's largest magnitude that becomes -8; a little is cut off where that makes finer steps.
constexpr float kShares[] = {0.70F, 0.75F, 0.80F, 0.84F, 0.88F, 0.92F, 0.96F, 1.0F, 1.04F, 1.09F, 1.14F};

float rounded4(float x, float scale) { return std::clamp(std::nearbyint(x / scale), kLowest4, kHighest4); }

float squared_error(std::span<const float> group, float scale) {
  float error = 0.0F;
  for (const float x : group) {
    error += std::pow(x - scale * rounded4(x, scale), 2.0F);
  }
  return error;
}

}  // namespace

float quantize_row(std::span<const float> row, std::span<int8_t> values) {
  float largest = 0.0F;
  for (const float x : row) {
    largest = std::max(largest, std::abs(x));
  }
  const float inverse = largest > kLeastMagnitude ? 127.0F / largest : 0.0F;
  std::ranges::transform(row, values.begin(),
                         [&](float x) { return static_cast<int8_t>(std::nearbyint(x * inverse)); });
  return largest / 127.0F;
}

float quantize_int8_group(std::span<const float> group, std::span<int8_t> values) {
  const float largest = std::abs(*std::ranges::max_element(group, {}, [](float x) { return std::abs(x); }));
  const float scale = widened_half(narrowed_half(largest / 127.0F));
  std::ranges::transform(group, values.begin(), [scale](float x) {
    return scale == 0.0F ? int8_t{0} : static_cast<int8_t>(std::clamp(std::nearbyint(x / scale), -127.0F, 127.0F));
  });
  return scale;
}

// The scale has the sign that makes -8 of the value with the largest magnitude.
float int4_scale(std::span<const float> group) {
  const float largest = *std::ranges::max_element(group, {}, [](float x) { return std::abs(x); });
  float best = 0.0F, least = std::numeric_limits<float>::infinity();
  for (const float share : kShares) {
    const auto scale = static_cast<float>(bf16(share * largest / kLowest4));
    if (scale == 0.0F) {
      continue;
    }
    if (const float error = squared_error(group, scale); error < least) {
      best = scale;
      least = error;
    }
  }
  return best;
}

int8_t rounded_to_int4(float x, float scale) {
  return scale == 0.0F ? int8_t{0} : static_cast<int8_t>(rounded4(x, scale));
}

float quantize_group(std::span<const float> group, std::span<int8_t> values) {
  const float scale = int4_scale(group);
  std::ranges::transform(group, values.begin(), [scale](float x) { return rounded_to_int4(x, scale); });
  return scale;
}

}  // namespace heed
