#include "demo/german_english.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/checksum.h"
#include "base/errors.h"

namespace heed {
namespace {

using testing::HasSubstr;

// The grammar with phrases to put into clauses, and rules of the test's own.
Grammar with(const std::string& rules) {
  return Grammar(std::string(kGermanEnglishGrammar) + R"(
draw doctor = head:noun[base=Arzt] single det=the
draw man = head:noun[base=Mann] single det=the
draw girl = head:noun[base=Mädchen] single det=the
draw book = head:noun[base=Buch] single det=the
draw letter = head:noun[base=Brief] single det=a
draw park = head:noun[base=Park] single det=the
)" + rules + "\n");
}

// What a rule draws that has nothing to choose from, such as "p:doctor | {p} | {p}". Begins with a capital.
Sentence drawn(const std::string& actions_and_texts, const std::string& rules = "") {
  return with(rules + "\ndraw probe = " + actions_and_texts).expand("probe", RandomKey{1});
}

Sentence phrase(const std::string& actions, const std::string& texts) {
  return drawn("p:phrase | " + texts, "draw phrase = " + actions);
}

// The nominative, the accusative and the dative.
std::string cases(const std::string& actions) {
  return phrase(actions, "- {p}").source.substr(2) + "/" + phrase(actions, "- {p case=acc}").source.substr(2) + "/" +
         phrase(actions, "- {p case=dat}").source.substr(2);
}

std::string english(const std::string& actions) { return phrase(actions, "{p}").target; }

// A clause in the progressive, unless its actions say otherwise. `text` may choose the order of its words.
std::string clause(const std::string& subject, const std::string& actions, const std::string& text = "{c}") {
  const Sentence sentence = drawn("c:told | " + text, "draw told = is=clause subject:" + subject +
                                                          " agr=$subject.agr tense=progressive " + actions);
  return sentence.source + " = " + sentence.target;
}

const std::vector<Sentence>& training() {
  static const std::vector<Sentence> sentences = german_english_corpus(Split::training, 60'000);
  return sentences;
}

const std::vector<Sentence>& held_out(Split split) {
  static const std::vector<Sentence> validation = german_english_corpus(Split::validation, 4'000);
  static const std::vector<Sentence> test = german_english_corpus(Split::test, 4'000);
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
  EXPECT_EQ(cases("head:noun[base=Mann] single det=the adjective:adjective[base=alt]"),
            "der alte Mann/den alten Mann/dem alten Mann");
  EXPECT_EQ(cases("head:noun[base=Frau] single det=the adjective:adjective[base=alt]"),
            "die alte Frau/die alte Frau/der alten Frau");
  EXPECT_EQ(cases("head:noun[base=Kind] single det=the adjective:adjective[base=klug]"),
            "das kluge Kind/das kluge Kind/dem klugen Kind");
  EXPECT_EQ(cases("head:noun[base=Kind] plural det=the adjective:adjective[base=alt]"),
            "die alten Kinder/die alten Kinder/den alten Kindern");
  EXPECT_EQ(cases("head:noun[base=Stadt] single det=this"), "diese Stadt/diese Stadt/dieser Stadt");
  EXPECT_EQ(cases("head:noun[base=Gast] single det=every adjective:adjective[base=müde]"),
            "jeder müde Gast/jeden müden Gast/jedem müden Gast");
}

TEST(GermanNouns, AgreeAfterEinKeinMein) {
  EXPECT_EQ(cases("head:noun[base=Rock] single det=a adjective:adjective[base=teuer]"),
            "ein teurer Rock/einen teuren Rock/einem teuren Rock");
  EXPECT_EQ(cases("head:noun[base=Tasche] single det=a adjective:adjective[base=rot]"),
            "eine rote Tasche/eine rote Tasche/einer roten Tasche");
  EXPECT_EQ(cases("head:noun[base=Zimmer] single det=a adjective:adjective[base=dunkel]"),
            "ein dunkles Zimmer/ein dunkles Zimmer/einem dunklen Zimmer");
  EXPECT_EQ(cases("head:noun[base=Hemd] plural det=bare negative=yes adjective:adjective[base=neu]"),
            "keine neuen Hemden/keine neuen Hemden/keinen neuen Hemden");
  const std::string ours =
      "head:noun[base=Bruder] single det=my owner:pronoun[column=4] adjective:adjective[base=jung]";
  EXPECT_EQ(cases(ours), "unser junger Bruder/unseren jungen Bruder/unserem jungen Bruder");
  EXPECT_EQ(english(ours), "Our young brother");
}

TEST(GermanNouns, AgreeWithNothingBefore) {
  EXPECT_EQ(cases("head:noun[base=Brot] single det=bare adjective:adjective[base=frisch]"),
            "frisches Brot/frisches Brot/frischem Brot");
  EXPECT_EQ(cases("head:noun[base=Kaffee] single det=bare adjective:adjective[base=kalt]"),
            "kalter Kaffee/kalten Kaffee/kaltem Kaffee");
  EXPECT_EQ(cases("head:noun[base=Jacke] plural det=many number:number[base=zwei] adjective:adjective[base=rot]"),
            "zwei rote Jacken/zwei rote Jacken/zwei roten Jacken");
}

TEST(GermanNouns, HaveWeakEndingsWhereTheyShould) {
  EXPECT_EQ(cases("head:noun[base=Junge] single det=the"), "der Junge/den Jungen/dem Jungen");
  EXPECT_EQ(cases("head:noun[base=Student] single det=a"), "ein Student/einen Studenten/einem Studenten");
  EXPECT_EQ(cases("head:noun[base=Auto] plural det=the"), "die Autos/die Autos/den Autos");
}

TEST(EnglishNouns, TakeAOrAnByTheirSound) {
  EXPECT_EQ(english("head:noun[base=Apfel] single det=a"), "An apple");
  EXPECT_EQ(english("head:noun[base=Auto] single det=a adjective:adjective[base=rot]"), "A red car");
  EXPECT_EQ(english("head:noun[base=Auto] single det=a adjective:adjective[base=alt]"), "An old car");
  EXPECT_EQ(english("head:noun[base=Mann] plural det=this"), "These men");
  EXPECT_EQ(english("head:noun[base=Milch] single det=bare negative=yes"), "Any milk");
}

TEST(Prepositions, ContractAndGovernTheirCase) {
  const auto at = [](const std::string& actions, const std::string& texts) { return phrase(actions, texts).source; };
  EXPECT_EQ(at("head:noun[base=Garten] single det=the", "in {p case=dat}"), "Im Garten");
  EXPECT_EQ(at("head:noun[base=Museum] single det=the adjective:adjective[base=alt]", "in {p case=acc}"),
            "Ins alte Museum");
  EXPECT_EQ(at("head:noun[base=Stadt] single det=the", "in {p case=acc}"), "In die Stadt");
  EXPECT_EQ(at("head:noun[base=Park] single det=this", "in {p case=dat}"), "In diesem Park");
  EXPECT_EQ(at("head:noun[base=Tisch] plural det=the", "auf {p case=dat}"), "Auf den Tischen");
  EXPECT_EQ(drawn("what:w | {towards}", "draw w = head:noun[base=Bahnhof] single det=the").source, "Zum Bahnhof");
  EXPECT_EQ(drawn("what:w | {towards}", "draw w = head:noun[base=Schule] single det=the").source, "In die Schule");
}

TEST(Clauses, PutTheVerbSecondOrLast) {
  const std::string reads = "head:verb[stem=les] accusative:letter";
  EXPECT_EQ(clause("man", reads), "Der Mann liest einen Brief = The man is reading a letter");
  const std::string today = reads + " time:time[base=heute]";
  EXPECT_EQ(clause("man", today), "Der Mann liest heute einen Brief = The man is reading a letter today");
  EXPECT_EQ(clause("man", today + " front=yes"),
            "Heute liest der Mann einen Brief = Today the man is reading a letter");
  EXPECT_EQ(clause("man", today, "{c order=last}"),
            "Der Mann heute einen Brief liest = The man is reading a letter today");
  EXPECT_EQ(clause("man", today, "{c order=first}"),
            "Liest der Mann heute einen Brief = Is the man reading a letter today");
  EXPECT_EQ(clause("man", "head:verb[stem=les] time:time[base=heute]", "was {c order=first} | what {c order=first}"),
            "Was liest der Mann heute = What is the man reading today");
}

TEST(Clauses, SeparatePrefixesFromTheirVerbs) {
  const std::string i = "pronoun[column=1]", calls = "head:verb[stem=ruf] accusative:doctor ";
  EXPECT_EQ(clause(i, calls), "Ich rufe den Arzt an = I am calling the doctor");
  EXPECT_THAT(clause(i, calls, "{c order=last}"), HasSubstr("Ich den Arzt anrufe"));
  EXPECT_EQ(clause(i, calls, "um {c order=zu} | to {c order=zu}"), "Um den Arzt anzurufen = To call the doctor");
  const std::string must = calls + "tense=simple modal:modal[plural=müssen]", past = calls + "tense=past";
  EXPECT_EQ(clause(i, must), "Ich muss den Arzt anrufen = I have to call the doctor");
  EXPECT_THAT(clause(i, must, "{c order=last}"), HasSubstr("Ich den Arzt anrufen muss"));
  EXPECT_EQ(clause(i, past), "Ich habe den Arzt angerufen = I called the doctor");
  EXPECT_THAT(clause(i, past, "{c order=last}"), HasSubstr("Ich den Arzt angerufen habe"));
}

TEST(Clauses, TakeHabenOrSeinInThePerfect) {
  EXPECT_EQ(drawn("c:told | {c}",
                  "draw told = is=clause subject:pronoun[column=f] agr=third head:verb[stem=geh] tense=past place:to\n"
                  "draw to = what:park | {towards} | to {what}")
                .source,
            "Sie ist in den Park gegangen");
  const std::string up = "head:verb[prefix=auf stem=steh] tense=past";
  EXPECT_EQ(clause("pronoun[column=4]", up), "Wir sind aufgestanden = We got up");
  EXPECT_THAT(clause("pronoun[column=4]", up, "{c order=first}"), HasSubstr("Did we get up"));
}

TEST(Clauses, NegateWithNichtAndKein) {
  const std::string you = "pronoun[column=2]", he = "pronoun[column=m]";
  const std::string no_letter = "head:verb[stem=kauf] negative=yes accusative:letter ";
  const std::string not_the = "head:verb[stem=kauf] negative=yes accusative:book ";
  EXPECT_EQ(clause(you, no_letter), "Du kaufst keinen Brief = You are not buying a letter");
  EXPECT_EQ(clause(you, not_the), "Du kaufst das Buch nicht = You are not buying the book");
  EXPECT_EQ(clause(you, not_the + "tense=past"), "Du hast das Buch nicht gekauft = You did not buy the book");
  const std::string modal = not_the + "tense=simple modal:modal";
  EXPECT_EQ(clause(you, modal + "[plural=können]"), "Du kannst das Buch nicht kaufen = You cannot buy the book");
  EXPECT_EQ(clause(you, modal + "[plural=dürfen]"),
            "Du darfst das Buch nicht kaufen = You are not allowed to buy the book");
  EXPECT_EQ(clause(he, modal + "[plural=wollen]"), "Er will das Buch nicht kaufen = He does not want to buy the book");
}

TEST(Clauses, OrderTheirObjects) {
  const std::string objects = " dative:girl accusative:book time:time[base=morgen] tense=future";
  EXPECT_EQ(clause("man", "head:verb[stem=geb]" + objects),
            "Der Mann gibt dem Mädchen morgen das Buch = The man will give the girl the book tomorrow");
  EXPECT_THAT(clause("man", "head:verb[stem=erklär]" + objects),
              HasSubstr("The man will explain the book to the girl tomorrow"));
  EXPECT_EQ(clause("pronoun[column=p]", "head:verb[stem=such] accusative:book time:time[base=oft] tense=simple"),
            "Sie suchen das Buch oft = They often look for the book");
}

TEST(Clauses, CompareTwoNouns) {
  const std::string fast = "predicate:adjective[base=schnell] tense=simple";
  EXPECT_EQ(clause("man", fast), "Der Mann ist schnell = The man is fast");
  EXPECT_EQ(clause("man", fast + " than:girl"),
            "Der Mann ist schneller als das Mädchen = The man is faster than the girl");
}

TEST(GermanEnglish, DescribesPeopleUnambiguously) {
  // "die Frau, die das Kind sieht": only a subject that shows its case tells who sees whom.
  int64_t seen = 0;
  for (const Sentence& sentence : training()) {
    const bool who = sentence.target.find(" who ") != std::string::npos;
    for (const std::string_view pronoun : {"die", "das"}) {
      const size_t at = sentence.source.find(", " + std::string(pronoun) + " ");
      const bool whom = sentence.target.find(" whom ") != std::string::npos;
      if (at != std::string::npos && whom && !who) {
        const std::string rest = sentence.source.substr(at + pronoun.size() + 3);
        const std::string subject = rest.substr(0, rest.find(' '));
        EXPECT_THAT(subject, testing::AnyOf("ich", "du", "er", "wir")) << sentence.source;
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
  for (const Sentence& sentence : german_english_corpus(Split::training, 500)) {
    const std::string line = sentence.source + "\t" + sentence.target + "\n";
    all.add(std::as_bytes(std::span(line)));
  }
  EXPECT_EQ(all.text(), "4fbf044a9829ac2d");
}

TEST(GermanEnglish, HasOneTranslationPerSentenceAndOneSentencePerTranslation) {
  // For everything that the grammar generates, not only for what a corpus accepts.
  const Grammar grammar(kGermanEnglishGrammar);
  std::map<std::string, std::string> english_of, german_of;
  for (uint64_t i = 0; i < 100'000; ++i) {
    const Sentence pair = grammar.expand("sentence", RandomKey{7}.derive(i));
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
      sources.insert(sentence.source);
      targets.insert(sentence.target);
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
         {std::pair(sentence.source, &german_forms), std::pair(sentence.target, &english_forms)}) {
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
      ASSERT_GT(new_here, 0U) << sentence.source;
    }
    EXPECT_GT(unseen.size(), 40U);
  }
}

// The German word for each English one of a list, in the form that `english` names.
std::map<std::string, std::string> lexicon(const std::string& list, const std::string& english) {
  const Grammar grammar = with("draw probe = w:" + list + " | - {w.base} | - {w." + english + "}");
  std::map<std::string, std::string> words;
  for (uint64_t i = 0; i < 3000; ++i) {
    const Sentence word = grammar.expand("probe", RandomKey{1}.derive(i));
    words[word.target.size() < 2 ? "" : word.target.substr(2)] = word.source.substr(2);
  }
  words.erase("");
  return words;
}

// What the sentences say of their combinations is what their words show: adjectives before nouns, in English, whose
// words do not inflect but for the plural.
std::set<std::pair<std::string, std::string>> described_nouns(const Sentence& sentence) {
  static const std::map<std::string, std::string> adjectives = lexicon("adjective", "base");
  static const std::map<std::string, std::string> nouns = [] {
    std::map<std::string, std::string> all = lexicon("noun", "base");
    all.merge(lexicon("noun", "plural"));
    return all;
  }();
  std::set<std::pair<std::string, std::string>> found;
  const std::string& text = sentence.target;
  for (const auto& [english, german] : adjectives) {
    const std::string before = " " + english + " ";
    for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
      const std::string_view rest = std::string_view(text).substr(at + before.size());
      std::pair<std::string, std::string> longest;
      for (const auto& noun : nouns) {
        if (rest.starts_with(noun.first) && noun.first.size() > longest.first.size()) {
          longest = noun;
        }
      }
      if (!longest.first.empty()) {
        found.emplace(german, longest.second);
      }
    }
  }
  return found;
}

TEST(GermanEnglish, HasNoReservedCombinationInTrainingText) {
  std::set<std::pair<std::string, std::string>> trained;
  for (const Sentence& sentence : training()) {
    for (const auto& pair : described_nouns(sentence)) {
      ASSERT_EQ(split_of({pair.first, pair.second}), Split::training) << sentence.target;
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
    for (const std::string& text : {sentence.source, sentence.target}) {
      for (const std::string& word : words_of(text)) {
        known.insert(word);
      }
    }
  }
  for (const Split split : {Split::validation, Split::test}) {
    for (const Sentence& sentence : held_out(split)) {
      for (const std::string& text : {sentence.source, sentence.target}) {
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
      if (sentence.source.find(sign) != std::string::npos) {
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
