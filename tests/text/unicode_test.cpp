#include "text/unicode/unicode.h"

#include <gtest/gtest.h>

#include "base/errors.h"

namespace heed {
namespace {

TEST(Unicode, FindsTheFirstByteThatIsNotUtf8) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("Straße 😀"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("ab\xff"), 2U);
  EXPECT_EQ(find_invalid_utf8("a\xc3"), 1U) << "a sequence that the end cuts off";
  EXPECT_EQ(find_invalid_utf8("\xc0\x80"), 0U) << "an overlong form";
  EXPECT_EQ(find_invalid_utf8("x\xed\xa0\x80"), 1U) << "a surrogate";
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0U) << "above U+10FFFF";
}

TEST(Unicode, CodePointsAreRestored) {
  const std::string text = "a\xc3\x9f\xe2\x82\xac\xf0\x9f\x98\x80";
  EXPECT_EQ(to_code_points(text), U"a\u00df\u20ac\U0001f600");
  EXPECT_EQ(to_utf8(to_code_points(text)), text);
  EXPECT_THROW(to_code_points("\xff"), FormatError);
  EXPECT_THROW(to_utf8(std::u32string(1, char32_t{0xd800})), FormatError);
}

TEST(Unicode, LettersAreOfAnyScript) {
  EXPECT_TRUE(has_letter("1) \xe4\xb8\xad"));
  EXPECT_TRUE(has_letter("... \xf0\x9d\x94\xb8"));
  EXPECT_FALSE(has_letter("3 \xe2\x82\xac, \xf0\x9f\x98\x80!"));
  EXPECT_FALSE(has_letter(""));
}

TEST(Unicode, LowerCaseIsIndependentOfLanguage) {
  EXPECT_EQ(to_lower_case("ÄÖÜ Straße I"), "äöü straße i");
  EXPECT_EQ(to_lower_case("ΣΑΣ"), "σας") << "the final sigma";
}

}  // namespace
}  // namespace heed
