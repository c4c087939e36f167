#include "text/patterns/byte_automaton.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>

#include "base/errors.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

using testing::HasSubstr;

void for_all_texts(const std::string& signs, size_t longest, const std::function<void(const std::string&)>& use) {
  std::vector<std::string> texts{""};
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    use(text);
    for (size_t c = 0; c < signs.size() && text.size() < longest; ++c) {
      texts.push_back(text + signs[c]);
    }
  }
}

TEST(Regex, MatchesWhatTheStandardLibraryMatches) {
  for (const char* const expression : {"a",
                                       "",
                                       "a*",
                                       "(a|b)*c",
                                       "a?b+",
                                       "[ab]{2}",
                                       "[^a]{1,2}",
                                       "(ab|a)(c|bcd)?",
                                       "a{2,}",
                                       "(a*b)*",
                                       "((a|b)(b|c)){1,2}",
                                       ".",
                                       "a.c",
                                       "[a-b]+c?",
                                       "(?:ab)+",
                                       "a|bc|",
                                       "\\x61b",
                                       "[\\d\\-a]+",
                                       "\\w\\W",
                                       "\\S\\s?",
                                       "(a?){3}b",
                                       "[b\\]-]a",
                                       "a+?b*?",
                                       "^ab$",
                                       "\\D\\.?",
                                       "a{0}b",
                                       "(a|ab)(bc|c)"}) {
    const ByteAutomaton automaton = automaton_of_regex(expression);
    const std::regex standard(expression);
    for_all_texts("abc-1\n .", 4, [&](const std::string& text) {
      // In ECMAScript a lone - or a line break means the same.
      ASSERT_EQ(automaton.matches(text), std::regex_match(text, standard)) << expression << " and '" << text << "'";
    });
  }
}

TEST(Regex, ClassesAreOfCodePoints) {
  struct Case {
    const char* expression;
    std::function<bool(char32_t)> matches;
  };
  const std::vector<Case> cases{{".", [](char32_t c) { return c != '\n'; }},
                                {"[^ä]", [](char32_t c) { return c != 0xE4; }},
                                {"[a-ÿ]", [](char32_t c) { return c >= 'a' && c <= 0xFF; }},
                                {"[\\u0390-\\x{1F600}]", [](char32_t c) { return c >= 0x390 && c <= 0x1F600; }},
                                {"[\\x7f-\\u0801]", [](char32_t c) { return c >= 0x7F && c <= 0x801; }}};
  for (const auto& [expression, matches] : cases) {
    const ByteAutomaton automaton = automaton_of_regex(expression);
    for (char32_t c = 1; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 97) {
      if (c < 0xD800 || c > 0xDFFF) {
        ASSERT_EQ(automaton.matches(to_utf8({&c, 1})), matches(c)) << expression << " " << static_cast<uint32_t>(c);
      }
    }
    EXPECT_FALSE(automaton.matches("\xed\xa0\x80")) << "a surrogate";
    EXPECT_FALSE(automaton.matches("\xc0\x80")) << "overlong";
  }
}

TEST(Regex, WhatNothingMatchesIsKnown) {
  EXPECT_TRUE(automaton_of_regex("a[^\\x00-\\x{10FFFF}]").matches_nothing());
  EXPECT_FALSE(automaton_of_regex("").matches_nothing());
  EXPECT_FALSE(automaton_of_regex("a|[^\\x00-\\x{10FFFF}]").matches_nothing());
}

TEST(Regex, RefusesWhatItDoesNotKnowWithTheCharacter) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"(a", "at character 3: a ')' is missing"},
      {"a)", "at character 2: ')' without '('"},
      {"ä*+", "at character 3: a repeat of a repeat"},
      {"*", "nothing to repeat"},
      {"a{2", "a '}' is missing"},
      {"a{3,2}", "at character 2: the maximum number of repeats is below the minimum"},
      {"a{1001}", "at character 3: expected a number of repeats, at most 1000"},
      {"a{x}", "number of repeats"},
      {"[a", "a ']' is missing"},
      {"[b-a]", "at character 2: a range that does not go up"},
      {"[\\d-z]", "does not go up"},
      {"(?=a)", "at character 1: only groups"},
      {"\\b", "at character 1: unknown escape"},
      {"\\1", "escape"},
      {"a\\", "a character is missing"},
      {"\\x{110000}", "code point"},
      {"\\u12", "code point"},
      {"a^b", "write \\ before"},
      {"\xff", "not UTF-8"},
      {std::string(500, '(') + "a" + std::string(500, ')'), "too many groups"},
      {"((((a{100}){100}){100}){100})", "too large"},
      {"(a|b)*a(a|b){17}", "too large"},
      {"(((((){1000}){1000}){1000}){1000}){1000}", "too large"},
      {"((a{0}){1000}){1000}", "too large"},
      {"((" + std::string(100'000, '|') + "){1000}){199}", "too large"}};
  for (const auto& [expression, message] : cases) {
    try {
      automaton_of_regex(expression);
      ADD_FAILURE() << expression.substr(0, 20) << " expected: " << message;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message)) << expression.substr(0, 20);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(ByteAutomaton, AcceptsExactlyTheTextsOrThoseWithoutThem) {
  const std::vector<std::string> texts{"ab", "abc", "c", "bca"};
  const ByteAutomaton exactly = automaton_of_texts(texts), without = automaton_without(texts);
  const ByteAutomaton starred = automaton_of_regex("(a|b|bb)*");
  const ByteAutomaton both = intersection(starred, without);
  for_all_texts("abc", 6, [&](const std::string& text) {
    const bool is_one = std::ranges::find(texts, text) != texts.end();
    const bool contains = std::ranges::any_of(texts, [&](const auto& t) { return text.find(t) != std::string::npos; });
    ASSERT_EQ(exactly.matches(text), is_one) << text;
    ASSERT_EQ(without.matches(text), !contains) << text;
    ASSERT_EQ(both.matches(text), !contains && starred.matches(text)) << text;
  });
}

}  // namespace
}  // namespace heed
