// What a language model thinks of the next token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct LikelyToken {
  std::string piece;  // as the tokenizer shows it
  std::string text;   // what it adds to the text; empty for a part of a character, and for a mark
  int32_t id = 0;
  double logit = 0.0, log_probability = 0.0;  // unmodified
};

struct LikelyTokens {
  std::vector<int32_t> prompt;      // the tokens that the model read: penalties of repetition look at them
  std::vector<LikelyToken> tokens;  // most likely first
};

}  // namespace heed
