// Which source token each target token was written from, as far as attention tells.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/search.h"

namespace heed {

// For each token of each target (without bos and eos), the position of the source token that the last decoder layer's
// cross-attention, averaged over its heads, looks at most while that token is predicted; of equals the first. Sources end
// with eos, which is left out, since it stands for nothing in the text. Taken from one pass over the finished targets.
std::vector<std::vector<int64_t>> align_pairs(const Inference& inference,
                                              const std::vector<std::vector<int32_t>>& sources,
                                              const std::vector<std::vector<int32_t>>& targets,
                                              const SearchRules& rules = {});

}  // namespace heed
