// Finding the few best of a vocabulary's scores: whole blocks are skipped by one comparison each, which compilers
// vectorize.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace heed {

constexpr int64_t kScoreBlock = 64;

// Whether a score of one block is at least the threshold.
inline bool any_reaches(const float* scores, float threshold) {
  int any = 0;
  for (int64_t i = 0; i < kScoreBlock; ++i) {
    any |= scores[i] >= threshold ? 1 : 0;
  }
  return any != 0;
}

// The token with the highest score of those that may be taken, the first of them in a tie. -1 where none has a score
// above minus infinity.
template <class MayTake>
int32_t best_token(std::span<const float> scores, MayTake may_take) {
  const auto count = static_cast<int64_t>(scores.size());
  float highest = -std::numeric_limits<float>::infinity();
  int32_t best = -1;
  for (int64_t first = 0; first < count; first += kScoreBlock) {
    const int64_t last = std::min(first + kScoreBlock, count);
    const float above = std::nextafter(highest, std::numeric_limits<float>::infinity());
    if (last == first + kScoreBlock && !any_reaches(scores.data() + first, above)) {
      continue;
    }
    for (int64_t token = first; token < last; ++token) {
      const float score = scores[static_cast<size_t>(token)];
      if (score > highest && may_take(static_cast<int32_t>(token))) {
        highest = score;
        best = static_cast<int32_t>(token);
      }
    }
  }
  return best;
}

}  // namespace heed
