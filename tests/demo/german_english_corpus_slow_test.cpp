// What whole corpora are like, of tens of thousands of sentences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "demo/german_english.h"

namespace heed {
namespace {

using testing::HasSubstr;

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
  const Grammar grammar(std::string(kGermanEnglishGrammar) + "\ndraw probe = w:" + list + " | - {w.base} | - {w." +
                        english + "}\n");
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

}  // namespace
}  // namespace heed
