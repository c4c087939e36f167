// Translating and scoring with an encoder-decoder, tokens to tokens.
#pragma once

#include "decode/search.h"

namespace heed {

// The hypotheses of each source, which includes eos if the model was trained with it; see search(). A sentence's result
// does not depend on the other sentences in the batch.
std::vector<std::vector<Hypothesis>> translate_tokens(const Inference& inference,
                                                      const std::vector<std::vector<int32_t>>& sources,
                                                      const TranslationOptions& options, const SearchRules& rules = {},
                                                      const Drafting* drafting = nullptr,
                                                      SourceVocabulary source = SourceVocabulary::other);

// Sources, which include eos, and as many targets, without bos and eos.
struct TokenPairs {
  const std::vector<std::vector<int32_t>>& sources;
  const std::vector<std::vector<int32_t>>& targets;
};

// The log-probability of each target, its end included.
std::vector<double> score_pairs(const Inference& inference, const TokenPairs& pairs, const SearchRules& rules = {});

}  // namespace heed
