// The tokens that were written, with their log-probabilities.
#pragma once

#include <vector>

#include "decode/search/sentence_search.h"
#include "heed/types/token_scores.h"
#include "text/tokenizer.h"

namespace heed {

inline ScoredToken scored(const Tokenizer& tokenizer, int32_t token, double log_probability) {
  return {std::string(tokenizer.piece(TokenId(token))), log_probability};
}

// The tokens of a hypothesis, and its end if it has one.
std::vector<ScoredToken> scored(const Tokenizer& tokenizer, const Hypothesis& hypothesis);

}  // namespace heed
