// What linear attention multiplies, for profiles and plans.
#pragma once

#include <algorithm>

#include "kernels/calls/linear_attention.h"

namespace heed {

// Floating-point operations of one head's forward pass over a sequence: sums of phi(k) [v | 1], phi(q) times those, and
// where the reach is causal the pairs within each chunk, to which the sums over the chunks before are added.
inline double linear_attention_flops(Visibility::Reach reach, int64_t tokens, int64_t key_width, int64_t value_width) {
  const auto n = static_cast<double>(tokens), k = static_cast<double>(key_width),
             v = static_cast<double>(value_width + 1);
  if (reach == Visibility::Reach::full) {
    return 4.0 * n * k * v;
  }
  const int64_t after_first_chunk = std::max<int64_t>(0, tokens - kLinearChunk);
  const int64_t chunks = tokens / kLinearChunk, rest = tokens % kLinearChunk;
  const int64_t pairs = chunks * (kLinearChunk * (kLinearChunk + 1) / 2) + rest * (rest + 1) / 2;
  return 4.0 * static_cast<double>(after_first_chunk) * k * v + 2.0 * static_cast<double>(pairs) * (k + v);
}

}  // namespace heed
