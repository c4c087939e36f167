// What linear attention multiplies, for profiles and plans.
#pragma once

#include <algorithm>

#include "kernels/calls.h"

namespace heed {

// Floating-point operations of one head's forward pass over a sequence: sums of phi(k) [v | 1], phi(q) times those, and
// where the reach is causal the pairs within each chunk, to which the sums over the chunks before are added.
inline double linear_attention_flops(Visibility::Reach reach, int64_t tokens, int64_t key_width, int64_t value_width) {
  const auto n = static_cast<double>(tokens), k = static_cast<double>(key_width),
             v = static_cast<double>(value_width + 1);
  if (reach == Visibility::Reach::full) {
    return 4.0 * n * k * v;
  }
  const int64_t behind_first = std::max<int64_t>(0, tokens - kLinearChunk);
  const auto whole = static_cast<double>(tokens / kLinearChunk), rest = static_cast<double>(tokens % kLinearChunk);
  constexpr auto kChunk = static_cast<double>(kLinearChunk);
  const double pairs = whole * kChunk * (kChunk + 1.0) / 2.0 + rest * (rest + 1.0) / 2.0;
  return 4.0 * static_cast<double>(behind_first) * k * v + 2.0 * pairs * (k + v);
}

}  // namespace heed
