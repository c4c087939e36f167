// Noun phrases of the German-English corpus on both sides: agreement in gender, number and case.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "demo/german_english_words.h"

namespace heed::german_english {

enum class GrammaticalCase : uint8_t { nominative, accusative, dative };

// What a verb agrees with; wir and sie share their forms, and so do we, you and they.
enum class Agreement : uint8_t { first, second, third, plural };

struct Pronoun {
  std::string_view nominative, accusative, dative;  // no accusative: "sie" would be her, them and it
  std::string_view subject, object;
  Agreement agreement;
  std::string_view german_possessive, english_possessive;
};

enum PronounIndex : uint8_t { kI, kYou, kHe, kShe, kWe, kThey, kPronouns };
const Pronoun& pronoun(PronounIndex index);

enum class Determiner : uint8_t { none, definite, indefinite, negative, possessive, demonstrative, every, number };

struct NounPhrase {
  const Noun* noun = nullptr;
  const Adjective* adjective = nullptr;  // may be null
  Determiner determiner = Determiner::definite;
  Number number = Number::singular;
  PronounIndex possessor = kI;  // of Determiner::possessive
  size_t count = 0;             // of Determiner::number, an index into the numbers
};

// What fills a role in a clause; monostate: nothing.
using Phrase = std::variant<std::monostate, const Pronoun*, const Name*, const City*, NounPhrase>;

enum class EnglishRole : uint8_t { subject, object };

std::string german(const Phrase& phrase, GrammaticalCase grammatical_case);
std::string english(const Phrase& phrase, EnglishRole role);
Agreement agreement(const Phrase& phrase);

// Known to the hearer, which puts an object before the time of day, and "nicht" where otherwise "kein" would stand.
bool is_definite(const Phrase& phrase);
bool is_empty(const Phrase& phrase);

// A preposition and what it governs. Contracts: in dem -> im, zu der -> zur.
struct PrepositionalPhrase {
  std::string_view german_preposition, english_preposition;
  GrammaticalCase grammatical_case = GrammaticalCase::dative;
  Phrase phrase;
};

std::string german(const PrepositionalPhrase& phrase);
std::string english(const PrepositionalPhrase& phrase);

// The relative pronoun for a noun phrase.
std::string_view german_relative(const NounPhrase& phrase, GrammaticalCase grammatical_case);

// The words with an indefinite article: "a man", "an apple".
std::string with_indefinite_article(std::string_view words);

// Joins words with spaces; empty ones are skipped.
class Words {
 public:
  Words& add(std::string_view words) {
    if (!words.empty()) {
      text_.append(text_.empty() ? "" : " ").append(words);
    }
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace heed::german_english
