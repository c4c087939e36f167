// Translating and scoring with an encoder-decoder, tokens to tokens.
#pragma once

#include "decode/search/search.h"

namespace heed {

// The numbers of tokens of a source, of its translation's prefix, and of the forced phrases.
struct LengthsOfInput {
  size_t source, prefix = 0, forced = 0;
};
// See TranslationOptions::max_length.
int64_t max_target_length(const TranslationOptions& options, const LengthsOfInput& lengths,
                          int64_t max_length_of_model);

// The hypotheses of each source, which includes eos if the model was trained with it, all in one batch. `candidates`
// has a list for each source, or none.
std::vector<std::vector<Hypothesis>> translate_tokens(const Inference& inference,
                                                      const std::vector<std::vector<int32_t>>& sources,
                                                      const TranslationOptions& options, const SearchRules& rules = {},
                                                      std::span<const std::vector<int32_t>> candidates = {});

// Sources, which include eos, and as many targets, which have neither bos nor eos.
struct TokenPairs {
  const std::vector<std::vector<int32_t>>& sources;
  const std::vector<std::vector<int32_t>>& targets;
};

// The log-probability of each target, its end included.
std::vector<double> score_pairs(const Inference& inference, const TokenPairs& pairs, const SearchRules& rules = {});

}  // namespace heed
