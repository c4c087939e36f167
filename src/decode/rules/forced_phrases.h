// Phrases, as tokens, that a text must contain.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed {

class ForcedPhrases {
 public:
  ForcedPhrases() = default;
  // None of them is empty; one that is listed twice counts once.
  explicit ForcedPhrases(std::vector<std::vector<int32_t>> phrases);

  bool empty() const { return phrases_.empty(); }
  int64_t tokens() const { return tokens_; }  // of all phrases together
  const std::vector<std::vector<int32_t>>& phrases() const { return phrases_; }

  // How many of these tokens a text has: those of the phrases that it contains, and the longest prefix of another
  // phrase that it ends with.
  int64_t met(std::span<const int32_t> text) const;
  // For each phrase that the text lacks, adds the token that continues it at the text's end, and the phrase's first. At
  // least one of them increases met().
  void next(std::span<const int32_t> text, std::vector<int32_t>& tokens) const;

 private:
  std::vector<std::vector<int32_t>> phrases_;
  int64_t tokens_ = 0;
};

}  // namespace heed
