#include "decode/rules/forced_phrases.h"

#include <algorithm>
#include <utility>

namespace heed {
namespace {

bool contains(std::span<const int32_t> text, std::span<const int32_t> phrase) {
  return std::search(text.begin(), text.end(), phrase.begin(), phrase.end()) != text.end();
}

// The length of the longest prefix of the phrase, which the text lacks, that the text ends with.
size_t begun(std::span<const int32_t> text, std::span<const int32_t> phrase) {
  for (size_t length = std::min(text.size(), phrase.size() - 1); length > 0; --length) {
    if (std::ranges::equal(text.last(length), phrase.first(length))) {
      return length;
    }
  }
  return 0;
}

}  // namespace

ForcedPhrases::ForcedPhrases(std::vector<std::vector<int32_t>> phrases) {
  for (std::vector<int32_t>& phrase : phrases) {
    if (std::ranges::find(phrases_, phrase) == phrases_.end()) {
      tokens_ += static_cast<int64_t>(phrase.size());
      phrases_.push_back(std::move(phrase));
    }
  }
}

int64_t ForcedPhrases::met(std::span<const int32_t> text) const {
  size_t whole = 0, longest = 0;
  for (const std::vector<int32_t>& phrase : phrases_) {
    if (contains(text, phrase)) {
      whole += phrase.size();
    } else {
      longest = std::max(longest, begun(text, phrase));
    }
  }
  return static_cast<int64_t>(whole + longest);
}

void ForcedPhrases::next(std::span<const int32_t> text, std::vector<int32_t>& tokens) const {
  for (const std::vector<int32_t>& phrase : phrases_) {
    if (!contains(text, phrase)) {
      tokens.push_back(phrase[begun(text, phrase)]);
      if (tokens.back() != phrase.front()) {
        tokens.push_back(phrase.front());
      }
    }
  }
}

}  // namespace heed
