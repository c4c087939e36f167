#include "eval/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string tokens(std::string_view text) {
  const std::string tokenized = tokenize_13a(text);
  std::string joined;
  for (const std::string_view word : split_at_white_space(tokenized)) {
    joined.append(joined.empty() ? "" : "|").append(word);
  }
  return joined;
}

TEST(Words, AreSplitAtUnicodeWhiteSpace) {
  EXPECT_THAT(split_at_white_space(" a\tb\n\nc "), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split_at_white_space("a\u00a0b\u1680c\u2000d\u200ae\u2028f\u2029g\u202fh\u205fi\u3000j\u0085k"),
              ElementsAre("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"));
  EXPECT_THAT(split_at_white_space("a\x1c"
                                   "b\x1f"
                                   "c\x0b"
                                   "d\x0c"
                                   "e"),
              ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(split_at_white_space(" \u3000\n"), IsEmpty());
  EXPECT_THAT(split_at_white_space(""), IsEmpty());
}

TEST(Words, AreNotSplitAtLookalikesOfWhiteSpace) {
  // A zero-width space, a byte-order mark, U+180E, and neighbours of white space in UTF-8.
  for (const std::string_view text :
       {"a\u200bb", "a\ufeffb", "a\u180eb", "a\u00a1b", "a\u2010b", "a\u202ab", "a\u3001b",
        "a\x1b"
        "b",
        "\u2003x"}) {
    EXPECT_EQ(split_at_white_space(text).size(), 1U) << text;
  }
}

TEST(Tokenization13a, SetsPunctuationApart) {
  EXPECT_EQ(
      tokens("Hello, world! (yes) [no] {so} a/b c:d;e \"f\" <g> h=i #5 $6 %7 @j ^_`|~\\*+?"),
      "Hello|,|world|!|(|yes|)|[|no|]|{|so|}|a|/|b|c|:|d|;|e|\"|f|\"|<|g|>|h|=|i|#|5|$|6|%|7|@|j|^|_|`|||~|\\|*|+|?");
  EXPECT_EQ(tokens("don't rock'n'roll"), "don't|rock'n'roll") << "apostrophes stay";
}

TEST(Tokenization13a, LeavesPeriodsAndCommasBetweenDigits) {
  EXPECT_EQ(tokens("1,000.50 is 3.14, not 2."), "1,000.50|is|3.14|,|not|2|.");
  EXPECT_EQ(tokens(".5 5. ,5 5,"), ".|5|5|.|,|5|5|,");
  EXPECT_EQ(tokens("U.S. v1.a a.1"), "U|.|S|.|v1|.|a|a|.|1");
  EXPECT_EQ(tokens("wait... what.."), "wait|.|.|.|what|.|.");
  EXPECT_EQ(tokens("1.,2"), "1|.|,|2");
  EXPECT_EQ(tokens("３．５ 3,中 ٣,٤"), "３．５|3|,|中|٣|,|٤") << "only ASCII digits and stops are looked at";
}

TEST(Tokenization13a, SetsHyphensApartOnlyAfterDigits) {
  EXPECT_EQ(tokens("well-known 10-20 -9 2-fold 1--2"), "well-known|10|-|20|-9|2|-|fold|1|-|-2");
}

TEST(Tokenization13a, UndoesMarkup) {
  EXPECT_EQ(tokens("a<skipped>b"), "ab");
  EXPECT_EQ(tokens("&quot;x&quot; &lt;y&gt; R&amp;D"), "\"|x|\"|<|y|>|R|&|D");
  EXPECT_EQ(tokens("&amp;lt; &amp;quot; &nbsp;"), "<|&|quot|;|&|nbsp|;") << "in the published order";
  EXPECT_EQ(tokens("hyphen-\nation of\nlines"), "hyphenation|of|lines");
}

TEST(Tokenization13a, LeavesOtherScriptsAlone) {
  EXPECT_EQ(tokens("„Gänse“ – 日本語。 ¿Qué?"), "„Gänse“|–|日本語。|¿Qué|?");
  EXPECT_EQ(tokens(""), "");
}

TEST(ChrfWords, LoseOnePunctuationCharacter) {
  EXPECT_THAT(split_punctuation("(hi) \"so ends.\" it's ... . “x” 日,"),
              ElementsAre("(hi", ")", "\"", "so", "ends.", "\"", "it's", "..", ".", ".", "“x”", "日", ","));
}

TEST(LetterCase, IsLoweredOnlyOnRequest) {
  EXPECT_EQ(in_case("ÄÖ Straße ΑΣ", LetterCase::kept), "ÄÖ Straße ΑΣ");
  EXPECT_EQ(in_case("ÄÖ Straße ΑΣ", LetterCase::lower), "äö straße ας");
  EXPECT_THROW(in_case("a\xff", LetterCase::kept), FormatError);
  EXPECT_THROW(in_case("a\xff", LetterCase::lower), FormatError);
}

}  // namespace
}  // namespace heed
