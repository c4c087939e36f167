// What a language model thinks of the next token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/types/token_scores.h"

namespace heed {

struct NextToken : LikelyToken {
  std::string text;    // what it adds to this text; empty for a part of a character, and for a mark
  double logit = 0.0;  // unmodified
};

struct LikelyTokens {
  std::vector<int32_t> prompt;    // the tokens that the model read: penalties of repetition look at them
  std::vector<NextToken> tokens;  // most likely first
};

}  // namespace heed
