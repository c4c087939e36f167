// Ranges for inputs that are rounded with one scale for all: what lies beyond is cut off.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace heed {

// least: of all that were seen, nothing is cut off.
// percentile: one value in 1,000, or in 10,000, is cut off.
// squared error: the one with the least squared error of the inputs.
// entropy: the one whose distribution diverges least from that of the inputs (Kullback-Leibler).
enum class RangeRule : uint8_t { least, percentile, squared_error, entropy };

constexpr std::string_view name_of(RangeRule rule) {
  constexpr std::array<std::string_view, 4> kNames{"least", "percentile", "squared error", "entropy"};
  return kNames[static_cast<size_t>(rule)];
}

struct InputRange {
  RangeRule rule = RangeRule::least;
  float largest = 0.0F;  // magnitude

  float scale() const { return largest / 127.0F; }
};

// `largest` is that of all inputs, of which `sample` has some. None where all are zeros.
std::vector<InputRange> candidate_ranges(std::span<const float> sample, float largest);

}  // namespace heed
