// Translating and scoring with an encoder-decoder, tokens to tokens.
#pragma once

#include "decode/search.h"

namespace heed {

// The hypotheses of each source, which includes eos if the model was trained with it; see search(). A sentence's result
// does not depend on the other sentences in the batch.
std::vector<std::vector<Hypothesis>> translate_tokens(const Inference& inference,
                                                      const std::vector<std::vector<int32_t>>& sources,
                                                      const TranslationOptions& options, const SearchRules& rules = {});

// The log-probability of each given target (without bos and eos), its end included.
std::vector<double> score_pairs(const Inference& inference, const std::vector<std::vector<int32_t>>& sources,
                                const std::vector<std::vector<int32_t>>& targets, const SearchRules& rules = {});

}  // namespace heed
