// Which source token each target token comes from, as far as attention tells.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/translation.h"

namespace heed {

// For each token of each target (without bos and eos), the position of the source token with the largest weight in the
// last decoder layer's cross-attention, averaged over its heads and the models, when that token is predicted; the first
// one in a tie.
// Sources end with eos, which is ignored, since it is no part of the text. Takes one pass over the finished targets.
std::vector<std::vector<int64_t>> align_pairs(const Inference& inference, const TokenPairs& pairs,
                                              const SearchRules& rules = {});

// For each pair, by the same attention a[t][s] of target token t to source token s: the sum over s of
//   ln min(1, sum over t of a[t][s])
// which is 0 when each source token was looked at enough, and the less the more were passed over.
std::vector<double> coverage_of_pairs(const Inference& inference, const TokenPairs& pairs,
                                      const SearchRules& rules = {});

}  // namespace heed
