// Tokens and their probabilities in OpenAI's words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/types/writing/generation.h"
#include "serve/json/fields.h"

namespace heed::serve::openai {

// The probabilities of a text's tokens, without an end and without tokens that are only in a stop text.
//   chat         {"content": [{"token", "logprob", "bytes", "top_logprobs"}, ...], "refusal": null}
//   completions  {"tokens", "token_logprobs", "top_logprobs", "text_offset"}; offsets count characters
Json chat_logprobs(std::span<const ScoredToken> tokens, std::string_view text);
// `before`: characters before the text, which offsets count too.
Json completion_logprobs(std::span<const ScoredToken> tokens, std::string_view text, int64_t before = 0);
// The same of a prompt. Nothing predicts its first token, which has null.
Json prompt_logprobs(std::span<const ScoredToken> tokens, std::string_view prompt);
// The same of tokens that all count, an end too, although they may add nothing to the text.
Json all_logprobs(std::span<const ScoredToken> tokens, std::string_view text, int64_t before);
// Adds what comes after the first.
void append_logprobs(Json& logprobs, Json more);
int64_t characters_of(std::string_view text);

// The tokens of a text that is sent in pieces, each with the piece in which it begins.
class TokensOfPieces {
 public:
  void add(const ScoredToken& token) { waiting_.push_back(token); }
  // The text up to the piece's end, for the offsets of the tokens that are taken.
  const std::string& text() const { return text_; }
  std::vector<ScoredToken> take(std::string_view piece);
  std::vector<ScoredToken> take_rest() { return std::exchange(waiting_, {}); }

 private:
  std::string text_;
  std::vector<ScoredToken> waiting_;
};

}  // namespace heed::serve::openai
