#include "decode/texts/scored_tokens.h"

namespace heed {

LikelyToken likely_token(const Tokenizer& tokenizer, const RankedToken& token) {
  return {.piece = std::string(tokenizer.piece(TokenId(token.token))),
          .log_probability = static_cast<double>(token.log_probability),
          .id = token.token,
          .bytes = tokenizer.token_bytes(TokenId(token.token))};
}

std::vector<LikelyToken> likely_tokens(const Tokenizer& tokenizer, std::span<const RankedToken> tokens) {
  std::vector<LikelyToken> likely;
  likely.reserve(tokens.size());
  for (const RankedToken& token : tokens) {
    likely.push_back(likely_token(tokenizer, token));
  }
  return likely;
}

ScoredToken scored(const Tokenizer& tokenizer, const WrittenToken& written) {
  return {likely_token(tokenizer, written.token), static_cast<int64_t>(written.text_offset),
          likely_tokens(tokenizer, written.likeliest)};
}

std::vector<ScoredToken> scored(const Tokenizer& tokenizer, const Hypothesis& hypothesis, TextStream& stream) {
  std::vector<ScoredToken> tokens;
  tokens.reserve(hypothesis.token_log_probabilities.size());
  for (size_t i = 0; i < hypothesis.token_log_probabilities.size(); ++i) {
    const bool is_end = i >= hypothesis.tokens.size();
    const int32_t token = is_end ? tokenizer.special().eos.value : hypothesis.tokens[i];
    std::span<const RankedToken> likeliest;
    if (i < hypothesis.likeliest.size()) {
      likeliest = *hypothesis.likeliest[i];
    }
    tokens.push_back(scored(tokenizer, {{token, hypothesis.token_log_probabilities[i]}, stream.length(), likeliest}));
    if (!is_end) {
      stream.add(TokenId(token));
    }
  }
  return tokens;
}

}  // namespace heed
