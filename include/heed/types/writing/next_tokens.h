// Which tokens a language model finds likely to come next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/types/writing/token_scores.h"

namespace heed {

struct NextToken : LikelyToken {
  std::string text;    // what it adds to the prompt; empty for a part of a character, and for a mark
  double logit = 0.0;  // unmodified
};

struct LikelyTokens {
  std::vector<int32_t> prompt;    // the tokens that the model read; a repetition penalty counts them
  std::vector<NextToken> tokens;  // most likely first
};

}  // namespace heed
