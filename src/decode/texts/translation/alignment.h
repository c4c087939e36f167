// Which source token each target token comes from, as far as attention tells.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/texts/translation/translation.h"

namespace heed {

// For each token of each target (without bos and eos), the position of the source token with the largest weight in the
// last decoder layer's cross-attention, averaged over its heads and the models, when that token is predicted; in a tie
// the first. Sources end with eos, which is not part of the text and is ignored. Takes one pass over the finished
// targets.
std::vector<std::vector<int64_t>> align_pairs(const Inference& inference, const TokenPairs& pairs,
                                              const SearchRules& rules = {});

// For each pair, by the same attention a[t][s] of target token t to source token s: the sum over s of
//   ln min(1, sum over t of a[t][s])
// which is 0 when each source token got attention of 1 or more, and the lower the less attention some of them got.
std::vector<double> coverage_of_pairs(const Inference& inference, const TokenPairs& pairs,
                                      const SearchRules& rules = {});

}  // namespace heed
