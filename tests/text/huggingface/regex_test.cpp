#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "heed/errors.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/regex/pattern.h"

namespace heed::test {
namespace {

using huggingface::ByteRange;
using huggingface::kByteLevelExpression;
using huggingface::kLetters;
using huggingface::lower_case;
using huggingface::make_backtracking_pattern;
using huggingface::make_scanner;
using huggingface::Pattern;
using huggingface::record_of;

std::vector<std::string> found_in(const Pattern& pattern, const std::string& text) {
  std::vector<ByteRange> matches;
  pattern.find_all(text, matches);
  std::vector<std::string> found;
  for (const ByteRange match : matches) {
    found.push_back(text.substr(match.begin, match.end - match.begin));
  }
  return found;
}

std::vector<std::string> found_by(const std::string& expression, const std::string& text) {
  return found_in(*make_backtracking_pattern(expression, "test"), text);
}

using Texts = std::vector<std::string>;

TEST(TokenizerRegex, FindsFromLeftToRight) {
  EXPECT_EQ(found_by("a+b?", "aab ab b a"), (Texts{"aab", "ab", "a"}));
  EXPECT_EQ(found_by("a*", "ba"), (Texts{"", "a"}));
  EXPECT_EQ(found_by("x|xy", "xy"), (Texts{"x"})) << "the first way counts, not the longest";
  EXPECT_EQ(found_by("(?:ab|a)b", "abb ab"), (Texts{"abb", "ab"}));
}

TEST(TokenizerRegex, RepeatsGreedilyLazilyAndPossessively) {
  EXPECT_EQ(found_by("<.+>", "<a><b>"), (Texts{"<a><b>"}));
  EXPECT_EQ(found_by("<.+?>", "<a><b>"), (Texts{"<a>", "<b>"}));
  EXPECT_EQ(found_by("a++a", "aaa"), (Texts{}));
  EXPECT_EQ(found_by("(?:ab){2,3}?", "ababab"), (Texts{"abab"}));
  EXPECT_EQ(found_by("(?:ab){,2}c", "ababc"), (Texts{"ababc"}));
  EXPECT_EQ(found_by("a{2}", "aaaaa"), (Texts{"aa", "aa"}));
  EXPECT_EQ(found_by("a{x}", "a{x}"), (Texts{"a{x}"})) << "no repetition, so text";
  EXPECT_EQ(found_by("(?:a*)*b", "aab"), (Texts{"aab"})) << "a loop whose body may be empty ends";
}

TEST(TokenizerRegex, LooksAroundAndBack) {
  EXPECT_EQ(found_by("\\s+(?!\\S)|\\s+", "a  b "), (Texts{" ", " ", " "}));
  EXPECT_EQ(found_by("(?<=a)b|(?<!a)c", "ab cb ac"), (Texts{"b", "c"}));
  EXPECT_EQ(found_by("(?<=ab+)c", "abbbc c"), (Texts{"c"}));
  EXPECT_EQ(found_by("(?>a+)ab|a", "aab"), (Texts{"a", "a"}));
}

TEST(TokenizerRegex, KnowsClassesOfCharacters) {
  EXPECT_EQ(found_by("\\p{Lu}+", "ABc\u00c9d"), (Texts{"AB", "\u00c9"}));
  EXPECT_EQ(found_by("[^\\s\\p{L}]+", "ab 12,x"), (Texts{"12,"}));
  EXPECT_EQ(found_by("[a-z&&[^aeiou]]+", "abcde"), (Texts{"bcd"}));
  EXPECT_EQ(found_by("[[:alpha:]]+|[]x-]", "ab]-1"), (Texts{"ab", "]", "-"}));
  EXPECT_EQ(found_by("\\p{Han}+|\\p{Greek}|\\P{^Nd}", "東京a\u03b17"), (Texts{"東京", "\u03b1", "7"}));
  EXPECT_EQ(found_by("[\\x{4e00}-\\u9fff]", "東"), (Texts{"東"}));
}

TEST(TokenizerRegex, IgnoresCaseWhereAskedTo) {
  EXPECT_EQ(found_by("(?i:'s)", "'s'S'\u017f"), (Texts{"'s", "'S", "'\u017f"}));
  EXPECT_EQ(found_by("a(?i)b|c", "aB aC ab"), (Texts{"aB", "aC", "ab"}));
}

TEST(TokenizerRegex, EndsAnExpressionThatGoesThroughTooManyWays) {
  const auto pattern = make_backtracking_pattern("(?:a+)+$", "t.json.pattern");
  std::vector<ByteRange> matches;
  try {
    pattern->find_all(std::string(40, 'a') + "b", matches);
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("t.json.pattern: the regular expression takes too many steps"),
              std::string::npos)
        << error.what();
  }
}

TEST(TokenizerRegex, RefusesWhatIsNoExpression) {
  for (const char* const expression :
       {"(", ")", "[a", "a{3,2}", "*", "\\p{Nothing}", "\\1", "(?Z)", "[z-a]", "\\x{110000}", "(?", "\\", "a{999999}",
        "(?:(?:(?:a{1000}){1000}){1000}){1000}", "(?:(?:(?:){90000}){90000}){90000}"}) {
    EXPECT_THROW(make_backtracking_pattern(expression, "test"), FormatError) << expression;
  }
  EXPECT_THROW(make_backtracking_pattern(std::string(100'000, '('), "test"), FormatError);
}

// Characters that the expressions of published models tell apart, in random order.
std::string random_text(std::mt19937& draw) {
  static const Texts kParts{" ",      " ",   "  ",     "\n",     "\r\n",   "\t",     "a",    "B",      "re",
                            "'s",     "'LL", "'",      "é",      "\u01c5", "\u02b0", "東",   "ー",     "\u0301",
                            "\u0903", "1",   "23",     "½",      "٣",      "Ⅷ",      "!",    "/",      "_",
                            "€",      "👍",   "\u200d", "\u00a0", "\u3000", "\u00ad", "\x01", "'\u017f"};
  std::string text;
  for (uint32_t i = 0, parts = draw() % 12; i < parts; ++i) {
    text += kParts[draw() % kParts.size()];
  }
  return text;
}

TEST(TokenizerRegex, ScannersFindWhatTheBacktrackingEngineFinds) {
  const Texts expressions{
      std::string(kByteLevelExpression),
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"(\p{N}{1,3})",
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
      " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"};
  for (const std::string& expression : expressions) {
    SCOPED_TRACE(expression);
    const auto scanner = make_scanner(expression);
    ASSERT_NE(scanner, nullptr);
    const auto engine = make_backtracking_pattern(expression, "test");
    std::mt19937 draw(1);
    for (int i = 0; i < 3000; ++i) {
      const std::string text = random_text(draw);
      ASSERT_EQ(found_in(*scanner, text), found_in(*engine, text)) << text;
    }
  }
}

TEST(TokenizerCharacters, FollowTheVersionsOfUnicodeOfTheLibrarysParts) {
  EXPECT_TRUE(record_of(0x1c89).in(kLetters)) << "a letter since Unicode 16";
  EXPECT_FALSE(record_of(0x16ea0).in(kLetters)) << "a letter since Unicode 17";
  EXPECT_EQ(lower_case(0x16ea0), 0x16ebbU);
  EXPECT_FALSE(record_of(0x2e43).is_punctuation()) << "punctuation since Unicode 9";
  EXPECT_FALSE(record_of(0x11935).is_normalized()) << "assigned by Unicode 13";
  EXPECT_EQ(lower_case(0x130), U'i');
  EXPECT_EQ(lower_case(0x1e9e), 0xdfU);
}

}  // namespace
}  // namespace heed::test
