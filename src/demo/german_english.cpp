#include "demo/german_english.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

#include "base/errors.h"

namespace heed {
namespace {

// A sentence belongs to the split for which its combinations are reserved; if some are reserved for each, to none.
bool belongs_to(const Sentence& sentence, Split split) {
  std::set<Split> splits{Split::training};
  for (const Combination& combination : sentence.combinations) {
    splits.insert(split_of(combination));
  }
  return splits == std::set{Split::training, split};
}

bool has_good_length(const std::string& text) {
  const int64_t words = 1 + std::ranges::count(text, ' ');
  return words >= 4 && words <= 16;
}

}  // namespace

// One combination in sixteen is reserved for validation, another for the test, whatever the seed: no seed trains on
// what another one tests.
Split split_of(const Combination& combination) {
  const uint64_t drawn = RandomKey{}.derive(combination.first).derive(combination.second).bits % 16;
  return drawn == 0 ? Split::test : drawn == 1 ? Split::validation : Split::training;
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
