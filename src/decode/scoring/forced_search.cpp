// The part of SentenceSearch that makes hypotheses contain phrases.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "decode/search/sentence_search.h"

namespace heed {

// First the ends of hypotheses that have all phrases, where these are among the best of their bank; then the banks take
// turns, the fullest first: the best of each, the second best of each, and so on.
std::vector<SentenceSearch::NextToken> SentenceSearch::by_turns(
    const std::vector<std::vector<NextToken>>& banks) const {
  std::vector<NextToken> chosen;
  const auto beam = static_cast<size_t>(beam_);
  for (size_t rank = 0; rank < std::min(beam, banks.back().size()); ++rank) {
    if (banks.back()[rank].token == rules_->tokens.eos) {
      chosen.push_back(banks.back()[rank]);
    }
  }
  const size_t longest = std::ranges::max(banks, {}, &std::vector<NextToken>::size).size();
  for (size_t rank = 0; rank < longest; ++rank) {
    for (auto bank = banks.rbegin(); bank != banks.rend(); ++bank) {
      if (rank < bank->size() && (*bank)[rank].token != rules_->tokens.eos) {
        chosen.push_back((*bank)[rank]);
      }
    }
  }
  return chosen;
}

// Puts the best continuations of one hypothesis, and those that lead on in a phrase, into their banks.
void SentenceSearch::offer_forced(const float* row, int64_t columns, int64_t hypothesis,
                                  std::vector<std::vector<NextToken>>& banks) {
  const ForcedPhrases& forced = rules_->forced;
  const Partial& partial = active_[static_cast<size_t>(hypothesis)];
  std::vector<NextToken> found = best_of_row(row, columns, hypothesis);
  std::vector<int32_t> leading;
  forced.next(partial.tokens, leading);
  for (const int32_t token : leading) {
    const float log_probability = row[row_tokens_.column(token)];
    if (!forbidden_.contains(token) && !std::isnan(log_probability) &&
        std::ranges::find(found, token, &NextToken::token) == found.end()) {
      found.push_back(
          {hypothesis, token, partial.log_probability + static_cast<double>(log_probability), log_probability});
    }
  }
  std::vector<int32_t> text = partial.tokens;
  text.push_back(0);
  const int64_t room = max_length_ - 1 - static_cast<int64_t>(text.size());
  for (const NextToken& c : found) {
    text.back() = c.token;
    const bool ends = c.token == rules_->tokens.eos;
    const int64_t met = ends ? forced.met(partial.tokens) : forced.met(text);
    if (ends ? met == forced.tokens() : forced.tokens() - met <= std::max<int64_t>(0, room)) {
      banks[static_cast<size_t>(met)].push_back(c);
    }
  }
}

std::vector<SentenceSearch::NextToken> SentenceSearch::forced_continuations(const HostView<float>& log_probs,
                                                                            int64_t first_row) {
  std::vector<std::vector<NextToken>> banks(static_cast<size_t>(rules_->forced.tokens()) + 1);
  for (int64_t h = 0; h < active(); ++h) {
    forbid(h);
    offer_forced(row_of(log_probs, first_row, h), row_tokens_.columns(log_probs.columns), h, banks);
  }
  const auto none = [&] { return std::ranges::all_of(banks, &std::vector<NextToken>::empty); };
  for (int64_t h = 0; none() && h < active(); ++h) {
    forbid(h);
    forbidden_.give_way();
    offer_forced(row_of(log_probs, first_row, h), row_tokens_.columns(log_probs.columns), h, banks);
  }
  if (none() && std::isnan(log_probs(first_row, 0))) {
    return {};
  }
  require<ConfigError>(!none(), "forced texts", "the other rules make it impossible to write all of them");
  for (std::vector<NextToken>& bank : banks) {
    sort(bank);
  }
  return by_turns(banks);
}

}  // namespace heed
