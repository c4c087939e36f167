#include "heed/language_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "base/errors.h"
#include "source_root.h"
#include "text/unicode/letters.h"

namespace heed {
namespace {

const LanguageDetector& detector() {
  static const LanguageDetector one;
  return one;
}

std::string language_of(std::string_view text) {
  const std::vector<LanguageGuess> guesses = detector().detect(text);
  return guesses.empty() ? "" : guesses.front().language;
}

TEST(LanguageDetector, KnowsSentencesThatItWasNotTrainedOn) {
  const std::vector<std::string> languages = detector().languages();
  EXPECT_EQ(languages.size(), 18);
  int right = 0, all = 0;
  for (const std::string& language : languages) {
    std::ifstream file(test::source_root() / "recipes/languages" / (language + ".txt"));
    std::string line;
    for (int number = 1; number <= 75 && std::getline(file, line); ++number) {
      if (number % 6 == 0) {
        ++all;
        right += language_of(line) == language ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(all, 216);
  EXPECT_GE(right, 210);
}

TEST(LanguageDetector, CaseAndSignsMakeNoDifference) {
  for (const char* const text :
       {"WIR FAHREN MORGEN NACH HAUSE!", "wir fahren morgen nach hause", "*Wir* fahren (morgen) nach Hause: 12.30"}) {
    EXPECT_EQ(language_of(text), "de") << text;
  }
  EXPECT_EQ(letters_of("Don’t STOP, e\u0301te\u0301 2024!"), "don't stop \u00e9t\u00e9");
}

TEST(LanguageDetector, ConfidencesAreSharesOfAHundred) {
  const std::vector<LanguageGuess> guesses = detector().detect("The weather is nice and we go for a walk.");
  ASSERT_EQ(guesses.size(), detector().languages().size());
  EXPECT_EQ(guesses.front().language, "en");
  EXPECT_GT(guesses.front().confidence, 80.0);
  EXPECT_TRUE(std::is_sorted(guesses.begin(), guesses.end(),
                             [](const auto& a, const auto& b) { return a.confidence > b.confidence; }));
  EXPECT_NEAR(std::accumulate(guesses.begin(), guesses.end(), 0.0,
                              [](double sum, const auto& one) { return sum + one.confidence; }),
              100.0, 1e-6);
}

TEST(LanguageDetector, TextsWithoutLettersHaveNone) {
  for (const char* const text : {"", " \n", "12:30 – 14:00", "😀!"}) {
    EXPECT_THAT(detector().detect(text), testing::IsEmpty()) << text;
  }
  EXPECT_THROW(detector().detect("a\xff"), FormatError);
}

TEST(LanguageDetector, LongTextsAreReadInParts) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "Il fait beau et nous allons nous promener. ";
  }
  EXPECT_EQ(language_of(text), "fr");
  EXPECT_EQ(language_of(std::string(500'000, 'a')).size(), 2);
  std::string characters;
  for (int i = 0; i < 5000; ++i) {
    characters += "我们今天去公园散步";
  }
  EXPECT_EQ(language_of(characters), "zh");
}

}  // namespace
}  // namespace heed
