// Drawing the parts of sentences: phrases that fit their verb, and clauses that say something.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/errors.h"
#include "base/random.h"
#include "demo/german_english_clauses.h"
#include "demo/german_english_patterns.h"

namespace heed::german_english {

// The state of drawing a sentence: the random stream, and the combinations of words so far.
class Draw {
 public:
  explicit Draw(RandomKey key) : key_(key) {}

  size_t below(size_t count);
  // True with a probability of `percent` in a hundred.
  bool percent(int64_t percent) { return static_cast<int64_t>(below(100)) < percent; }

  template <class Item>
  const Item& of(std::span<const Item> items) {
    return items[below(items.size())];
  }
  template <class Item>
  Item of(std::initializer_list<Item> items) {
    return items.begin()[below(items.size())];
  }
  // One of the items that fit; there must be at least one.
  template <class Item, class Fits>
  const Item& of(std::span<const Item> items, Fits fits) {
    const auto count = static_cast<size_t>(std::ranges::count_if(items, fits));
    ensure(count > 0, "german-english", "no word fits");
    size_t left = below(count);
    return *std::ranges::find_if(items, [&](const Item& item) { return fits(item) && left-- == 0; });
  }

  void combine(const Adjective& adjective, const Noun& noun);
  void combine(const Verb& verb, const Phrase& object);
  // When something that was drawn is not used after all, its combinations are removed.
  size_t met() const { return combinations_.size(); }
  void forget_since(size_t met) { combinations_.resize(met); }
  std::vector<Combination> take_combinations() { return std::move(combinations_); }

 private:
  RandomKey key_;
  uint64_t drawn_ = 0;
  std::vector<Combination> combinations_;
};

// Phrases.
Phrase draw_person(Draw& draw);        // a subject: a pronoun, a name or a noun
Phrase draw_known_person(Draw& draw);  // "the man", "my friends": to be described further
NounPhrase draw_known_thing(Draw& draw, Traits traits);
Phrase draw_object(Draw& draw, Traits traits, const Phrase& subject);
Phrase pronoun_for(const Phrase& person);  // he, she, they; empty for what would be "it"

// Clauses in the present, positive, without time.
Clause draw_clause(Draw& draw, const Phrase& subject);
Clause draw_clause(Draw& draw, const Phrase& subject, const Verb& verb);
Clause draw_state(Draw& draw);                          // something is (older than something)
Clause draw_feeling(Draw& draw, const Phrase& person);  // someone is tired
Clause draw_whereabouts(Draw& draw);                    // something lies somewhere
const Verb& draw_verb(Draw& draw, std::initializer_list<Frame> frames);

// Gives a clause a tense, with the adverbs that go with it, or a modal verb.
void draw_tense(Draw& draw, Clause& clause);
void use_plain_present(Clause& clause);
void use_modal(Draw& draw, Clause& clause);

// Negates the clause where that sounds natural: with nicht or kein.
void perhaps_negate(Draw& draw, Clause& clause);

}  // namespace heed::german_english
