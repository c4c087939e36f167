#include "decode/token_rules.h"

#include <algorithm>

#include "base/errors.h"

namespace heed {
namespace {

// The tokens that followed the last n - 1 wherever these came before.
void forbid_repetition(std::span<const int32_t> tokens, size_t n, ForbiddenTokens& forbidden) {
  if (tokens.size() < n) {
    return;
  }
  const std::span last = tokens.last(n - 1);
  for (size_t begin = 0; begin + n <= tokens.size(); ++begin) {
    if (std::ranges::equal(tokens.subspan(begin, n - 1), last)) {
      forbidden.add(tokens[begin + n - 1]);
    }
  }
}

}  // namespace

void validate(const WritingRules& rules) {
  require<ConfigError>(rules.min_length >= 0, "decoding", "the minimum length is {}, expected 0 or more",
                       rules.min_length);
  require<ConfigError>(rules.no_repeat_ngram >= 0, "decoding",
                       "no-repeat-ngram is {}, expected the number of tokens in a row that must not come again, or 0",
                       rules.no_repeat_ngram);
}

bool ForbiddenTokens::contains(int32_t token) const { return std::ranges::find(tokens_, token) != tokens_.end(); }

bool ForbiddenTokens::give_way() {
  const bool any = tokens_.size() > always_;
  tokens_.resize(always_);
  return any;
}

void TokenRules::forbid(std::span<const int32_t> tokens, int64_t written, ForbiddenTokens& forbidden) const {
  forbidden.reset(suppressed);
  if (written + 1 < writing.min_length) {
    forbidden.add(eos);
  }
  if (writing.no_repeat_ngram > 0) {
    forbid_repetition(tokens, static_cast<size_t>(writing.no_repeat_ngram), forbidden);
  }
}

}  // namespace heed
