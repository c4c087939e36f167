// The sentence patterns of the German-English corpus.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "demo/german_english.h"

namespace heed::german_english {

// Two words that a sentence combines: an adjective and its noun, or a verb and its object, in their dictionary forms.
struct Combination {
  std::string first, second;

  auto operator<=>(const Combination&) const = default;
};

struct Sentence {
  SentencePair pair;
  std::vector<Combination> combinations;
};

// One sentence, of any length; depends only on the key.
Sentence draw_sentence(RandomKey key);

// The split that a combination is reserved for; Split::training means that all may use it.
Split split_of(const Combination& combination);

// The sentences of german_english_corpus(), with their combinations.
std::vector<Sentence> draw_corpus(Split split, int64_t count, uint64_t seed);

}  // namespace heed::german_english
