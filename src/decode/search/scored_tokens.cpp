#include "decode/search/scored_tokens.h"

namespace heed {

std::vector<ScoredToken> scored(const Tokenizer& tokenizer, const Hypothesis& hypothesis) {
  std::vector<ScoredToken> tokens;
  tokens.reserve(hypothesis.tokens.size() + 1);
  for (size_t i = 0; i < hypothesis.token_log_probabilities.size(); ++i) {
    const int32_t token = i < hypothesis.tokens.size() ? hypothesis.tokens[i] : tokenizer.special().eos.value;
    tokens.push_back(scored(tokenizer, token, static_cast<double>(hypothesis.token_log_probabilities[i])));
  }
  return tokens;
}

}  // namespace heed
