// How likely a model found what it wrote, token by token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heed {

enum class EachToken : uint8_t { left_out, listed };

// A token that might come next, or did.
struct LikelyToken {
  std::string piece;             // as the tokenizer shows it
  double log_probability = 0.0;  // under the model's unmodified logits; natural logarithm
  int32_t id = 0;
  // What it adds to a text after other tokens; it may be a part of a character. Empty for a token that is no text, such
  // as an end. None where that depends on the tokens beside it, as the white space between words does.
  std::optional<std::string> bytes = {};
};

// The most tokens that can be listed for a position.
constexpr int64_t kMaxLikeliest = 20;

// A token that was written, or that a prompt has.
struct ScoredToken : LikelyToken {
  // Where it begins in the text, in bytes: after the complete characters of the tokens before it. An end, and a token
  // of a stop text, begins at the text's end or after it.
  int64_t text_offset = 0;
  std::vector<LikelyToken> likeliest = {};  // as many as were asked for, the likeliest first
};

}  // namespace heed
