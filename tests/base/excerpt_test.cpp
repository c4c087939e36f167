#include "base/text/excerpt.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(Excerpt, IsShortAndHasNoControlCharacters) {
  EXPECT_EQ(shown("a\x1b[2J\n"), "a?[2J?");
  EXPECT_EQ(shown(std::string(80, 'x')), std::string(80, 'x'));
  EXPECT_EQ(shown(std::string(81, 'x')), std::string(80, 'x') + "...");
  EXPECT_EQ(shown(std::string(79, 'x') + "\xc3\xbc"), std::string(79, 'x') + "...") << "no half of a character";
}

}  // namespace
}  // namespace heed
