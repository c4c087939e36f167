// The tokens that were written, with their log-probabilities.
#pragma once

#include <span>
#include <vector>

#include "decode/search/sentence_search.h"
#include "decode/texts/text_stream.h"
#include "heed/types/writing/token_scores.h"
#include "text/tokenizer.h"

namespace heed {

LikelyToken likely_token(const Tokenizer& tokenizer, const RankedToken& token);
std::vector<LikelyToken> likely_tokens(const Tokenizer& tokenizer, std::span<const RankedToken> tokens);

struct WrittenToken {
  RankedToken token;
  size_t text_offset;
  std::span<const RankedToken> likeliest = {};
};
ScoredToken scored(const Tokenizer& tokenizer, const WrittenToken& written);

// The tokens of a hypothesis, and its end if it has one. `stream` gets the tokens, and must not stop.
std::vector<ScoredToken> scored(const Tokenizer& tokenizer, const Hypothesis& hypothesis, TextStream& stream);

}  // namespace heed
