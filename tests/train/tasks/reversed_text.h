// Text that a small model learns in seconds: sentences of made-up words, and for a translation the same words
// backwards.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"

namespace heed::test {

struct ReversedSentence {
  std::string source, target;
};

// The first of the sentences that belong to a name ("train"); others belong to another.
inline std::vector<ReversedSentence> reversed_sentences(const std::string& name, int64_t count) {
  constexpr int kWords = 80, kMinLength = 3, kMaxLength = 8;
  constexpr std::string_view kConsonants = "bdfgklmnprst", kVowels = "aeiou";
  const auto draw = [](RandomKey key, uint64_t index, size_t choices) {
    return static_cast<size_t>(uniform_draw(key, index) * static_cast<double>(choices));
  };
  const auto word = [&](size_t which) {
    const RandomKey letters = RandomKey{1}.derive(which);
    std::string made;
    for (uint64_t syllable = 0; syllable < 2 + which % 2; ++syllable) {
      made += kConsonants[draw(letters, 2 * syllable, kConsonants.size())];
      made += kVowels[draw(letters, 2 * syllable + 1, kVowels.size())];
    }
    return made;
  };
  std::vector<ReversedSentence> sentences;
  for (int64_t i = 0; i < count; ++i) {
    const RandomKey key = RandomKey{2}.derive(name).derive(static_cast<uint64_t>(i));
    const size_t length = kMinLength + draw(key, 0, kMaxLength - kMinLength + 1);
    ReversedSentence sentence;
    for (uint64_t position = 1; position <= length; ++position) {
      const std::string next = word(draw(key, position, kWords));
      sentence.source += (position == 1 ? "" : " ") + next;
      sentence.target = next + (position == 1 ? "" : " ") + sentence.target;
    }
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace heed::test
