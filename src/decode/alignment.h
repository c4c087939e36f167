// Which source token each target token comes from, as far as attention tells.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/translation.h"

namespace heed {

// For each token of each target (without bos and eos), the position of the source token with the largest weight in the
// last decoder layer's cross-attention, averaged over its heads, when that token is predicted; the first one in a tie.
// Sources end with eos, which is ignored, since it is no part of the text. Takes one pass over the finished targets.
std::vector<std::vector<int64_t>> align_pairs(const Inference& inference, const TokenPairs& pairs,
                                              const SearchRules& rules = {});

}  // namespace heed
