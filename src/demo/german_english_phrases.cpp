#include "demo/german_english_phrases.h"

#include <array>

namespace heed::german_english {
namespace {

using Case = GrammaticalCase;

// Forms by case (rows) and masculine, feminine, neuter, plural (columns).
using Paradigm = std::array<std::array<std::string_view, 4>, 3>;

constexpr Paradigm kDefinite = {
    {{"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "den"}}};
constexpr Paradigm kRelative = {
    {{"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "denen"}}};
// dies-, jed-; and an adjective with no determiner, or a number, before it.
constexpr Paradigm kStrong = {{{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}}};
// ein-, kein-, mein-.
constexpr Paradigm kIndefinite = {{{"", "e", "", "e"}, {"en", "e", "", "e"}, {"em", "er", "em", "en"}}};
// Adjectives after der, dieser, jeder; and after ein, kein, mein.
constexpr Paradigm kWeak = {{{"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}}};
constexpr Paradigm kMixed = {{{"er", "e", "es", "en"}, {"en", "e", "es", "en"}, {"en", "en", "en", "en"}}};

constexpr Pronoun kPronounTable[] = {
    {"ich", "mich", "mir", "I", "me", Agreement::first, "mein", "my"},
    {"du", "dich", "dir", "you", "you", Agreement::second, "dein", "your"},
    {"er", "ihn", "ihm", "he", "him", Agreement::third, "sein", "his"},
    {"sie", "", "ihr", "she", "her", Agreement::third, "ihr", "her"},
    {"wir", "uns", "uns", "we", "us", Agreement::plural, "unser", "our"},
    {"sie", "", "ihnen", "they", "them", Agreement::plural, "ihr", "their"},
};

std::string_view form(const Paradigm& paradigm, const NounPhrase& phrase, Case grammatical_case) {
  const size_t column = phrase.number == Number::plural ? 3 : static_cast<size_t>(phrase.noun->gender);
  return paradigm[static_cast<size_t>(grammatical_case)][column];
}

std::string german_determiner(const NounPhrase& phrase, Case grammatical_case) {
  const auto with = [&](std::string_view stem, const Paradigm& endings) {
    return std::string(stem).append(form(endings, phrase, grammatical_case));
  };
  switch (phrase.determiner) {
    case Determiner::none:
      return "";
    case Determiner::definite:
      return with("", kDefinite);
    case Determiner::indefinite:
      return with("ein", kIndefinite);
    case Determiner::negative:
      return with("kein", kIndefinite);
    case Determiner::possessive:
      return with(pronoun(phrase.possessor).german_possessive, kIndefinite);
    case Determiner::demonstrative:
      return with("dies", kStrong);
    case Determiner::every:
      return with("jed", kStrong);
    case Determiner::number:
      return std::string(german_numbers()[phrase.count]);
  }
  return "";
}

const Paradigm& adjective_endings(Determiner determiner) {
  switch (determiner) {
    case Determiner::none:
    case Determiner::number:
      return kStrong;
    case Determiner::indefinite:
    case Determiner::negative:
    case Determiner::possessive:
      return kMixed;
    default:
      return kWeak;
  }
}

std::string german_noun(const Noun& noun, Number number, Case grammatical_case) {
  if (number == Number::singular) {
    return std::string(grammatical_case == Case::nominative || noun.oblique.empty() ? noun.german : noun.oblique);
  }
  const bool takes_n = grammatical_case == Case::dative && !noun.plural.ends_with('n') && !noun.plural.ends_with('s');
  return std::string(noun.plural).append(takes_n ? "n" : "");
}

std::string german(const NounPhrase& phrase, Case grammatical_case) {
  std::string words = german_determiner(phrase, grammatical_case);
  const auto add = [&words](std::string_view word) { words.append(words.empty() ? "" : " ").append(word); };
  if (phrase.adjective != nullptr) {
    const std::string_view ending = form(adjective_endings(phrase.determiner), phrase, grammatical_case);
    add(std::string(phrase.adjective->stem).append(ending));
  }
  add(german_noun(*phrase.noun, phrase.number, grammatical_case));
  return words;
}

std::string english(const NounPhrase& phrase) {
  std::string words;
  if (phrase.adjective != nullptr) {
    words.append(phrase.adjective->english).append(" ");
  }
  const bool plural = phrase.number == Number::plural;
  words.append(plural ? phrase.noun->english_plural : phrase.noun->english);
  switch (phrase.determiner) {
    case Determiner::none:
      return words;
    case Determiner::definite:
      return "the " + words;
    case Determiner::indefinite:
      return with_indefinite_article(words);
    case Determiner::negative:  // the verb says "not"
      return plural || phrase.noun->is(kMass) ? "any " + words : with_indefinite_article(words);
    case Determiner::possessive:
      return std::string(pronoun(phrase.possessor).english_possessive) + " " + words;
    case Determiner::demonstrative:
      return (plural ? "these " : "this ") + words;
    case Determiner::every:
      return "every " + words;
    case Determiner::number:
      return std::string(english_numbers()[phrase.count]) + " " + words;
  }
  return words;
}

// A preposition and the article after it, when German contracts them to one word.
struct Contraction {
  std::string_view preposition, article, contracted;
};
constexpr Contraction kContractions[] = {{"in", "dem", "im"},   {"in", "das", "ins"},  {"zu", "dem", "zum"},
                                         {"zu", "der", "zur"},  {"an", "dem", "am"},   {"an", "das", "ans"},
                                         {"von", "dem", "vom"}, {"bei", "dem", "beim"}};

}  // namespace

const Pronoun& pronoun(PronounIndex index) { return kPronounTable[index]; }

std::string german(const Phrase& phrase, Case grammatical_case) {
  if (const auto* const noun = std::get_if<NounPhrase>(&phrase)) {
    return german(*noun, grammatical_case);
  }
  if (const auto* const chosen = std::get_if<const Pronoun*>(&phrase)) {
    const Pronoun& pronoun = **chosen;
    return std::string(grammatical_case == Case::nominative   ? pronoun.nominative
                       : grammatical_case == Case::accusative ? pronoun.accusative
                                                              : pronoun.dative);
  }
  if (const auto* const name = std::get_if<const Name*>(&phrase)) {
    return std::string((*name)->name);
  }
  const auto* const city = std::get_if<const City*>(&phrase);
  return city == nullptr ? "" : std::string((*city)->german);
}

std::string english(const Phrase& phrase, EnglishRole role) {
  if (const auto* const noun = std::get_if<NounPhrase>(&phrase)) {
    return english(*noun);
  }
  if (const auto* const pronoun = std::get_if<const Pronoun*>(&phrase)) {
    return std::string(role == EnglishRole::subject ? (*pronoun)->subject : (*pronoun)->object);
  }
  if (const auto* const name = std::get_if<const Name*>(&phrase)) {
    return std::string((*name)->name);
  }
  const auto* const city = std::get_if<const City*>(&phrase);
  return city == nullptr ? "" : std::string((*city)->english);
}

Agreement agreement(const Phrase& phrase) {
  if (const auto* const pronoun = std::get_if<const Pronoun*>(&phrase)) {
    return (*pronoun)->agreement;
  }
  const auto* const noun = std::get_if<NounPhrase>(&phrase);
  return noun != nullptr && noun->number == Number::plural ? Agreement::plural : Agreement::third;
}

bool is_definite(const Phrase& phrase) {
  const auto* const noun = std::get_if<NounPhrase>(&phrase);
  return !is_empty(phrase) &&
         (noun == nullptr || noun->determiner == Determiner::definite || noun->determiner == Determiner::possessive ||
          noun->determiner == Determiner::demonstrative || noun->determiner == Determiner::every);
}

bool is_empty(const Phrase& phrase) { return std::holds_alternative<std::monostate>(phrase); }

std::string german(const PrepositionalPhrase& phrase) {
  std::string words = german(phrase.phrase, phrase.grammatical_case);
  const auto* const noun = std::get_if<NounPhrase>(&phrase.phrase);
  if (noun != nullptr && noun->determiner == Determiner::definite && noun->number == Number::singular) {
    const std::string_view article = form(kDefinite, *noun, phrase.grammatical_case);
    for (const Contraction& c : kContractions) {
      if (c.preposition == phrase.german_preposition && c.article == article) {
        return words.replace(0, article.size(), c.contracted);
      }
    }
  }
  return std::string(phrase.german_preposition) + " " + words;
}

std::string english(const PrepositionalPhrase& phrase) {
  return std::string(phrase.english_preposition) + " " + english(phrase.phrase, EnglishRole::object);
}

std::string_view german_relative(const NounPhrase& phrase, Case grammatical_case) {
  return form(kRelative, phrase, grammatical_case);
}

std::string with_indefinite_article(std::string_view words) {
  // By letter: the lexicon has no "hour" and no "university".
  const bool vowel = std::string_view("aeiou").find(words.front()) != std::string_view::npos;
  return std::string(vowel ? "an " : "a ").append(words);
}

}  // namespace heed::german_english
