// Clauses of the German-English corpus: one structure, written in either language's word order.
#pragma once

#include <string>

#include "demo/german_english_phrases.h"

namespace heed::german_english {

// In English; German uses the present, or the perfect for the past.
enum class Tense : uint8_t { simple, progressive, future, past };
enum class Polarity : uint8_t { positive, negative };

// What happens, or with no verb, how something is.
struct Clause {
  Phrase subject;
  const Verb* verb = nullptr;
  const Modal* modal = nullptr;  // may be null
  Tense tense = Tense::simple;
  Polarity polarity = Polarity::positive;
  Phrase dative, accusative;
  PrepositionalPhrase prepositional;  // an object, a place or a direction; its phrase may be empty
  const TimeAdverb* time = nullptr;   // may be null
  const Adjective* predicate = nullptr;
  Phrase compared_with;  // the predicate is then in its comparative
};

// A role that a clause leaves out, because something before the clause fills it.
enum class Gap : uint8_t { none, subject, accusative, dative, prepositional, time };

// In German the verb comes first (in a question; in a statement, after the part that is left out and comes before it),
// or last (after a conjunction or a relative pronoun).
enum class GermanOrder : uint8_t { verb_first, verb_last };
enum class EnglishOrder : uint8_t { statement, question };

std::string german(const Clause& clause, GermanOrder order, Gap gap);
std::string english(const Clause& clause, EnglishOrder order, Gap gap);

// A statement that starts with its subject or (which inverts the German one) with its time. Without capital and period.
enum class Front : uint8_t { subject, time };
std::string german_statement(const Clause& clause, Front front);
std::string english_statement(const Clause& clause, Front front);

// "um das Buch zu kaufen", "to buy the book": the clause without its subject and verb forms.
std::string german_purpose(const Clause& clause);
std::string english_purpose(const Clause& clause);

}  // namespace heed::german_english
