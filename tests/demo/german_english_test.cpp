#include "demo/german_english.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/checksum.h"
#include "base/errors.h"
#include "demo/german_english_clauses.h"
#include "demo/german_english_patterns.h"

namespace heed {
namespace {

using namespace german_english;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

constexpr GrammaticalCase kNominative = GrammaticalCase::nominative, kAccusative = GrammaticalCase::accusative,
                          kDative = GrammaticalCase::dative;

template <class Word>
const Word& find(std::span<const Word> words, std::string_view german) {
  const auto it = std::ranges::find(words, german, &Word::german);
  require<InternalError>(it != words.end(), "test", "no word {}", german);
  return *it;
}

const Verb& verb(std::string_view whole) {
  const auto words = verbs();
  const auto it =
      std::ranges::find_if(words, [&](const Verb& v) { return std::string(v.prefix).append(v.infinitive) == whole; });
  require<InternalError>(it != words.end(), "test", "no verb {}", whole);
  return *it;
}

const Modal& modal(std::string_view infinitive) { return *std::ranges::find(modals(), infinitive, &Modal::infinitive); }

NounPhrase noun(std::string_view german, Determiner determiner, Number number = Number::singular) {
  return {.noun = &find(nouns(), german), .determiner = determiner, .number = number};
}

NounPhrase described(std::string_view adjective, NounPhrase phrase) {
  phrase.adjective = &find(adjectives(), adjective);
  return phrase;
}

std::string cases(const NounPhrase& phrase) {
  return german(phrase, kNominative) + "/" + german(phrase, kAccusative) + "/" + german(phrase, kDative);
}

Clause clause(const Phrase& subject, std::string_view verb_name, const Phrase& accusative = {}) {
  Clause made;
  made.subject = subject;
  made.verb = &verb(verb_name);
  made.accusative = accusative;
  made.tense = Tense::progressive;
  return made;
}

std::string both(const Clause& c, Front front = Front::subject) {
  return german_statement(c, front) + " = " + english_statement(c, front);
}

std::string subordinate(const Clause& c) { return german(c, GermanOrder::verb_last, Gap::none); }

const std::vector<Sentence>& training() {
  static const std::vector<Sentence> sentences = draw_corpus(Split::training, 60'000, 1);
  return sentences;
}

const std::vector<Sentence>& held_out(Split split) {
  static const std::vector<Sentence> validation = draw_corpus(Split::validation, 4'000, 1);
  static const std::vector<Sentence> test = draw_corpus(Split::test, 4'000, 1);
  return split == Split::test ? test : validation;
}

// The words. The first one is in lower case, as within a sentence, unless it is a noun or a name.
std::vector<std::string> words_of(std::string text) {
  char& first = text[text[0] == '\xc3' ? 1 : 0];
  first = static_cast<char>(first | 0x20);
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ') {
      words.emplace_back();
    } else if (c != '.' && c != ',' && c != '?') {
      words.back() += c;
    }
  }
  return words;
}

TEST(GermanNouns, AgreeInGenderAndCaseAfterDer) {
  const Determiner the = Determiner::definite;
  EXPECT_EQ(cases(described("alt", noun("Mann", the))), "der alte Mann/den alten Mann/dem alten Mann");
  EXPECT_EQ(cases(described("alt", noun("Frau", the))), "die alte Frau/die alte Frau/der alten Frau");
  EXPECT_EQ(cases(described("klug", noun("Kind", the))), "das kluge Kind/das kluge Kind/dem klugen Kind");
  EXPECT_EQ(cases(described("alt", noun("Kind", the, Number::plural))),
            "die alten Kinder/die alten Kinder/den alten Kindern");
  EXPECT_EQ(cases(noun("Stadt", Determiner::demonstrative)), "diese Stadt/diese Stadt/dieser Stadt");
  EXPECT_EQ(cases(described("müde", noun("Gast", Determiner::every))),
            "jeder müde Gast/jeden müden Gast/jedem müden Gast");
}

TEST(GermanNouns, AgreeAfterEinKeinMein) {
  const Determiner a = Determiner::indefinite;
  EXPECT_EQ(cases(described("teuer", noun("Rock", a))), "ein teurer Rock/einen teuren Rock/einem teuren Rock");
  EXPECT_EQ(cases(described("rot", noun("Tasche", a))), "eine rote Tasche/eine rote Tasche/einer roten Tasche");
  EXPECT_EQ(cases(described("dunkel", noun("Zimmer", a))),
            "ein dunkles Zimmer/ein dunkles Zimmer/einem dunklen Zimmer");
  EXPECT_EQ(cases(described("neu", noun("Hemd", Determiner::negative, Number::plural))),
            "keine neuen Hemden/keine neuen Hemden/keinen neuen Hemden");
  NounPhrase ours = described("jung", noun("Bruder", Determiner::possessive));
  ours.possessor = kWe;
  EXPECT_EQ(cases(ours), "unser junger Bruder/unseren jungen Bruder/unserem jungen Bruder");
  EXPECT_EQ(english(Phrase(ours), EnglishRole::subject), "our young brother");
}

TEST(GermanNouns, AgreeWithNothingBefore) {
  EXPECT_EQ(cases(described("frisch", noun("Brot", Determiner::none))), "frisches Brot/frisches Brot/frischem Brot");
  EXPECT_EQ(cases(described("kalt", noun("Kaffee", Determiner::none))), "kalter Kaffee/kalten Kaffee/kaltem Kaffee");
  NounPhrase two = described("rot", noun("Jacke", Determiner::number));
  two.number = Number::plural;
  EXPECT_EQ(cases(two), "zwei rote Jacken/zwei rote Jacken/zwei roten Jacken");
}

TEST(GermanNouns, HaveWeakEndingsWhereTheyShould) {
  EXPECT_EQ(cases(noun("Junge", Determiner::definite)), "der Junge/den Jungen/dem Jungen");
  EXPECT_EQ(cases(noun("Student", Determiner::indefinite)), "ein Student/einen Studenten/einem Studenten");
  EXPECT_EQ(cases(noun("Auto", Determiner::definite, Number::plural)), "die Autos/die Autos/den Autos");
}

TEST(EnglishNouns, TakeAOrAnByTheirSound) {
  const auto says = [](const NounPhrase& phrase) { return english(Phrase(phrase), EnglishRole::object); };
  EXPECT_EQ(says(noun("Apfel", Determiner::indefinite)), "an apple");
  EXPECT_EQ(says(described("rot", noun("Auto", Determiner::indefinite))), "a red car");
  EXPECT_EQ(says(described("alt", noun("Auto", Determiner::indefinite))), "an old car");
  EXPECT_EQ(says(noun("Mann", Determiner::demonstrative, Number::plural)), "these men");
  EXPECT_EQ(says(noun("Milch", Determiner::negative)), "any milk");
}

TEST(Prepositions, ContractAndGovernTheirCase) {
  EXPECT_EQ(german(PrepositionalPhrase{"in", "in", kDative, noun("Garten", Determiner::definite)}), "im Garten");
  EXPECT_EQ(
      german(PrepositionalPhrase{"in", "to", kAccusative, described("alt", noun("Museum", Determiner::definite))}),
      "ins alte Museum");
  EXPECT_EQ(german(PrepositionalPhrase{"in", "to", kAccusative, noun("Stadt", Determiner::definite)}), "in die Stadt");
  EXPECT_EQ(german(PrepositionalPhrase{"zu", "to", kDative, noun("Bahnhof", Determiner::definite)}), "zum Bahnhof");
  EXPECT_EQ(german(PrepositionalPhrase{"in", "in", kDative, noun("Park", Determiner::demonstrative)}),
            "in diesem Park");
  EXPECT_EQ(german(PrepositionalPhrase{"auf", "on", kDative, noun("Tisch", Determiner::definite, Number::plural)}),
            "auf den Tischen");
}

TEST(Clauses, PutTheVerbSecondOrLast) {
  Clause c = clause(noun("Mann", Determiner::definite), "lesen", noun("Brief", Determiner::indefinite));
  EXPECT_EQ(both(c), "der Mann liest einen Brief = the man is reading a letter");
  c.time = &find(time_adverbs(), "heute");
  EXPECT_EQ(both(c), "der Mann liest heute einen Brief = the man is reading a letter today");
  EXPECT_EQ(both(c, Front::time), "heute liest der Mann einen Brief = today the man is reading a letter");
  EXPECT_EQ(subordinate(c), "der Mann heute einen Brief liest");
  EXPECT_EQ(german(c, GermanOrder::verb_first, Gap::none), "liest der Mann heute einen Brief");
  EXPECT_EQ(english(c, EnglishOrder::question, Gap::none), "is the man reading a letter today");
  EXPECT_EQ(english(c, EnglishOrder::question, Gap::accusative), "is the man reading today");
}

TEST(Clauses, SeparatePrefixesFromTheirVerbs) {
  Clause c = clause(&pronoun(kI), "anrufen", noun("Arzt", Determiner::definite));
  EXPECT_EQ(both(c), "ich rufe den Arzt an = I am calling the doctor");
  EXPECT_EQ(subordinate(c), "ich den Arzt anrufe");
  EXPECT_EQ(german_purpose(c), "um den Arzt anzurufen");
  EXPECT_EQ(english_purpose(c), "to call the doctor");
  c.modal = &modal("müssen");
  EXPECT_EQ(both(c), "ich muss den Arzt anrufen = I have to call the doctor");
  EXPECT_EQ(subordinate(c), "ich den Arzt anrufen muss");
  c.modal = nullptr;
  c.tense = Tense::past;
  EXPECT_EQ(both(c), "ich habe den Arzt angerufen = I called the doctor");
  EXPECT_EQ(subordinate(c), "ich den Arzt angerufen habe");
}

TEST(Clauses, TakeHabenOrSeinInThePerfect) {
  Clause c = clause(&pronoun(kShe), "gehen");
  c.prepositional = {"in", "to", kAccusative, noun("Park", Determiner::definite)};
  c.tense = Tense::past;
  EXPECT_EQ(both(c), "sie ist in den Park gegangen = she went to the park");
  c = clause(&pronoun(kWe), "aufstehen");
  c.tense = Tense::past;
  EXPECT_EQ(both(c), "wir sind aufgestanden = we got up");
  EXPECT_EQ(english(c, EnglishOrder::question, Gap::none), "did we get up");
}

TEST(Clauses, NegateWithNichtAndKein) {
  Clause c = clause(&pronoun(kYou), "kaufen", noun("Uhr", Determiner::negative));
  c.polarity = Polarity::negative;
  EXPECT_EQ(both(c), "du kaufst keine Uhr = you are not buying a clock");
  c.accusative = noun("Uhr", Determiner::definite);
  EXPECT_EQ(both(c), "du kaufst die Uhr nicht = you are not buying the clock");
  c.tense = Tense::past;
  EXPECT_EQ(both(c), "du hast die Uhr nicht gekauft = you did not buy the clock");
  c.modal = &modal("können");
  EXPECT_EQ(both(c), "du kannst die Uhr nicht kaufen = you cannot buy the clock");
  c.modal = &modal("dürfen");
  EXPECT_EQ(both(c), "du darfst die Uhr nicht kaufen = you are not allowed to buy the clock");
  c.subject = &pronoun(kHe);
  c.modal = &modal("wollen");
  EXPECT_EQ(both(c), "er will die Uhr nicht kaufen = he does not want to buy the clock");
}

TEST(Clauses, OrderTheirObjects) {
  Clause c = clause(noun("Lehrer", Determiner::definite), "geben", noun("Buch", Determiner::definite));
  c.dative = noun("Mädchen", Determiner::definite);
  c.time = &find(time_adverbs(), "morgen");
  c.tense = Tense::future;
  EXPECT_EQ(both(c), "der Lehrer gibt dem Mädchen morgen das Buch = the teacher will give the girl the book tomorrow");
  c.verb = &verb("erklären");
  EXPECT_THAT(both(c), HasSubstr("the teacher will explain the book to the girl tomorrow"));
  Clause seek = clause(&pronoun(kThey), "suchen", noun("Schlüssel", Determiner::definite));
  seek.time = &find(time_adverbs(), "oft");
  seek.tense = Tense::simple;
  EXPECT_EQ(both(seek), "sie suchen den Schlüssel oft = they often look for the key");
}

TEST(Clauses, CompareTwoNouns) {
  Clause c;
  c.subject = noun("Hund", Determiner::definite);
  c.predicate = &find(adjectives(), "schnell");
  EXPECT_EQ(both(c), "der Hund ist schnell = the dog is fast");
  c.compared_with = noun("Katze", Determiner::definite);
  EXPECT_EQ(both(c), "der Hund ist schneller als die Katze = the dog is faster than the cat");
}

TEST(GermanEnglish, DescribesPeopleUnambiguously) {
  // "die Frau, die das Kind sieht": only a subject that shows its case tells who sees whom.
  int64_t seen = 0;
  for (const Sentence& sentence : training()) {
    const bool who = sentence.pair.target.find(" who ") != std::string::npos;
    for (const std::string_view pronoun : {"die", "das"}) {
      const size_t at = sentence.pair.source.find(", " + std::string(pronoun) + " ");
      const bool whom = sentence.pair.target.find(" whom ") != std::string::npos;
      if (at != std::string::npos && whom && !who) {
        const std::string rest = sentence.pair.source.substr(at + pronoun.size() + 3);
        const std::string subject = rest.substr(0, rest.find(' '));
        EXPECT_THAT(subject, testing::AnyOf("ich", "du", "er", "wir")) << sentence.pair.source;
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(GermanEnglish, IsTheSameEveryTime) {
  const auto once = german_english_corpus(Split::training, 500);
  EXPECT_EQ(once, german_english_corpus(Split::training, 500));
  EXPECT_NE(once, german_english_corpus(Split::training, 500, 2));
  const auto more = german_english_corpus(Split::training, 800);
  EXPECT_TRUE(std::equal(once.begin(), once.end(), more.begin())) << "a longer corpus begins with the shorter one";
  EXPECT_TRUE(german_english_corpus(Split::test, 0).empty());
}

// Draws in the arguments of one call would come in whatever order the compiler evaluates them.
TEST(GermanEnglish, IsTheSameWhateverCompilesIt) {
  Checksum all;
  for (const auto& [source, target] : german_english_corpus(Split::training, 500)) {
    const std::string line = source + "\t" + target + "\n";
    all.add(std::as_bytes(std::span(line)));
  }
  EXPECT_EQ(all.text(), "7b5e840f9aafc3dd");
}

TEST(GermanEnglish, HasOneTranslationPerSentenceAndOneSentencePerTranslation) {
  // For everything that the grammar generates, not only for what draw_corpus() accepts.
  std::map<std::string, std::string> english_of, german_of;
  for (uint64_t i = 0; i < 100'000; ++i) {
    const SentencePair pair = draw_sentence(RandomKey{7}.derive(i)).pair;
    ASSERT_EQ(english_of.try_emplace(pair.source, pair.target).first->second, pair.target) << pair.source;
    ASSERT_EQ(german_of.try_emplace(pair.target, pair.source).first->second, pair.source) << pair.target;
  }
}

TEST(GermanEnglish, HasEnoughDistinctSentencesInEachSplit) {
  std::set<std::string> sources, targets;
  size_t pairs = 0;
  for (const auto* const sentences : {&training(), &held_out(Split::validation), &held_out(Split::test)}) {
    pairs += sentences->size();
    for (const Sentence& sentence : *sentences) {
      sources.insert(sentence.pair.source);
      targets.insert(sentence.pair.target);
    }
  }
  EXPECT_EQ(pairs, 68'000U);
  EXPECT_EQ(sources.size(), pairs);
  EXPECT_EQ(targets.size(), pairs);
}

TEST(GermanEnglish, IsWellFormedAndOfModestSize) {
  std::set<std::string> german_forms, english_forms;
  for (const Sentence& sentence : training()) {
    for (const auto& [text, forms] :
         {std::pair(sentence.pair.source, &german_forms), std::pair(sentence.pair.target, &english_forms)}) {
      const std::vector<std::string> words = words_of(text);
      ASSERT_GE(words.size(), 4U) << text;
      ASSERT_LE(words.size(), 16U) << text;
      ASSERT_TRUE(text.ends_with('.') || text.ends_with('?')) << text;
      ASSERT_TRUE((text[0] >= 'A' && text[0] <= 'Z') || text.starts_with("Ö")) << text;
      for (const std::string& word : words) {
        ASSERT_FALSE(word.empty()) << text;
        forms->insert(word);
      }
    }
  }
  for (const auto* const forms : {&german_forms, &english_forms}) {
    EXPECT_GE(forms->size(), 400U);
    EXPECT_LE(forms->size(), 850U);
  }
}

TEST(GermanEnglish, ReservesCombinationsForValidationAndTest) {
  std::set<Combination> trained;
  for (const Sentence& sentence : training()) {
    trained.insert(sentence.combinations.begin(), sentence.combinations.end());
  }
  for (const Split split : {Split::validation, Split::test}) {
    std::set<Combination> unseen;
    for (const Sentence& sentence : held_out(split)) {
      size_t new_here = 0;
      for (const Combination& combination : sentence.combinations) {
        ASSERT_TRUE(split_of(combination) == split || split_of(combination) == Split::training);
        if (split_of(combination) == split) {
          ASSERT_FALSE(trained.contains(combination)) << combination.first << " " << combination.second;
          unseen.insert(combination);
          ++new_here;
        }
      }
      ASSERT_GT(new_here, 0U) << sentence.pair.source;
    }
    EXPECT_GT(unseen.size(), 40U);
  }
}

// What the sentences say of their combinations is what their words show: adjectives before nouns, in English, whose
// words do not inflect but for the plural.
std::set<std::pair<std::string, std::string>> described_nouns(const Sentence& sentence) {
  std::set<std::pair<std::string, std::string>> found;
  const std::string& text = sentence.pair.target;
  for (const Adjective& adjective : adjectives()) {
    const std::string before = " " + std::string(adjective.english) + " ";
    for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
      const std::string_view rest = std::string_view(text).substr(at + before.size());
      const Noun* longest = nullptr;
      for (const Noun& noun : nouns()) {
        if (rest.starts_with(noun.english) && (longest == nullptr || longest->english.size() < noun.english.size())) {
          longest = &noun;
        }
        if (!noun.english_plural.empty() && rest.starts_with(noun.english_plural)) {
          longest = &noun;
        }
      }
      if (longest != nullptr) {
        found.emplace(adjective.german, longest->german);
      }
    }
  }
  return found;
}

TEST(GermanEnglish, HasNoReservedCombinationInTrainingText) {
  std::set<std::pair<std::string, std::string>> trained;
  for (const Sentence& sentence : training()) {
    for (const auto& pair : described_nouns(sentence)) {
      ASSERT_EQ(split_of({pair.first, pair.second}), Split::training) << sentence.pair.target;
      trained.insert(pair);
    }
  }
  EXPECT_GT(trained.size(), 500U);
  size_t unseen = 0;
  for (const Sentence& sentence : held_out(Split::test)) {
    for (const auto& pair : described_nouns(sentence)) {
      unseen += trained.contains(pair) ? 0U : 1U;
    }
  }
  EXPECT_GT(unseen, 1000U);
}

TEST(GermanEnglish, TestsOnlyWordsThatAreInTraining) {
  std::set<std::string> known;
  for (const Sentence& sentence : training()) {
    for (const std::string& text : {sentence.pair.source, sentence.pair.target}) {
      for (const std::string& word : words_of(text)) {
        known.insert(word);
      }
    }
  }
  for (const Split split : {Split::validation, Split::test}) {
    for (const Sentence& sentence : held_out(split)) {
      for (const std::string& text : {sentence.pair.source, sentence.pair.target}) {
        for (const std::string& word : words_of(text)) {
          ASSERT_TRUE(known.contains(word)) << word << " in " << text;
        }
      }
    }
  }
}

TEST(GermanEnglish, ContainsEveryPhenomenon) {
  std::map<std::string, int64_t> seen;
  for (const Sentence& sentence : training()) {
    for (const std::string_view sign :
         {", weil ", ", obwohl ", ", dass ", ", ob ",     "Wenn ",     ", um ", ", aber ", ", dem ",   ", der ",
          ", die ",  ", das ",    "Warum ",  "Wer ",      "Wen ",      "Wem ",  "Wohin ",  "Wo ",      "Was ",
          " im ",    " ins ",     " zum ",   " auf den ", " auf dem ", " kein", " nicht",  " zurück.", " an.",
          "abzu",    "er als ",   "Heute ",  " bin ",     " unsere",   " mit "}) {
      if (sentence.pair.source.find(sign) != std::string::npos) {
        ++seen[std::string(sign)];
      }
    }
  }
  EXPECT_EQ(seen.size(), 33U);
  for (const auto& [sign, count] : seen) {
    EXPECT_GT(count, 50) << sign;
  }
}

TEST(GermanEnglish, RefusesImpossibleSizes) {
  EXPECT_THROW(german_english_corpus(Split::training, -1), ConfigError);
  EXPECT_THROW(german_english_corpus(Split::test, kMaxGermanEnglishPairs + 1), ConfigError);
}

}  // namespace
}  // namespace heed
