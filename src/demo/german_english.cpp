#include "demo/german_english.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/errors.h"

namespace heed {
namespace {

constexpr int64_t kMinWords = 4, kMaxWords = 16;

// A sentence belongs to the split for which its combinations are reserved; if some are reserved for each, to none.
bool belongs_to(const Sentence& sentence, Split split) {
  bool kept_for_it = split == Split::training;
  for (const Combination& combination : sentence.combinations) {
    const Split kept = split_of(combination);
    if (kept != split && kept != Split::training) {
      return false;
    }
    kept_for_it = kept_for_it || kept == split;
  }
  return kept_for_it;
}

bool has_good_length(const std::string& text) {
  const int64_t words = 1 + std::ranges::count(text, ' ');
  return words >= kMinWords && words <= kMaxWords;
}

}  // namespace

// One combination in sixteen is reserved for validation, another for the test, whatever the seed: no seed trains on
// what another one tests.
Split split_of(const Combination& combination) {
  switch (RandomKey{}.derive(combination.first).derive(combination.second).bits % 16) {
    case 0:
      return Split::test;
    case 1:
      return Split::validation;
    default:
      return Split::training;
  }
}

std::vector<Sentence> german_english_corpus(Split split, int64_t count, uint64_t seed) {
  require<ConfigError>(count >= 0 && count <= kMaxGermanEnglishPairs, "german-english", "{} pairs, expected 0 to {}",
                       count, kMaxGermanEnglishPairs);
  static const Grammar grammar(kGermanEnglishGrammar);
  const RandomKey key = RandomKey{seed}.derive("german-english");
  std::vector<Sentence> sentences;
  std::unordered_set<std::string> sources, targets;
  for (uint64_t i = 0; static_cast<int64_t>(sentences.size()) < count; ++i) {
    Sentence sentence = grammar.expand("sentence", key.derive(i));
    if (has_good_length(sentence.source) && has_good_length(sentence.target) && belongs_to(sentence, split) &&
        !targets.contains(sentence.target) && sources.insert(sentence.source).second) {
      targets.insert(sentence.target);
      sentences.push_back(std::move(sentence));
    }
  }
  return sentences;
}

}  // namespace heed
