#include "decode/rules/forced_phrases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using ForcedIds = std::vector<int32_t>;

ForcedIds next_of(const ForcedPhrases& forced, const ForcedIds& text) {
  ForcedIds tokens;
  forced.next(text, tokens);
  return tokens;
}

TEST(ForcedPhrases, AreMetWholeOrByAPrefixAtTheEndOfTheText) {
  const ForcedPhrases forced({{5, 6, 7}, {8}});
  EXPECT_EQ(forced.tokens(), 4);
  EXPECT_EQ(forced.met(ForcedIds{}), 0);
  EXPECT_EQ(forced.met(ForcedIds{5, 6}), 2);
  EXPECT_EQ(forced.met(ForcedIds{5, 6, 9}), 0);
  EXPECT_EQ(forced.met(ForcedIds{5, 6, 5}), 1);
  EXPECT_EQ(forced.met(ForcedIds{8, 5, 6}), 3);
  EXPECT_EQ(forced.met(ForcedIds{1, 5, 6, 7, 2, 8}), 4);
}

TEST(ForcedPhrases, GoOnWithTheirNextTokenOrTheirFirst) {
  const ForcedPhrases forced({{5, 6, 7}, {8}});
  EXPECT_THAT(next_of(forced, {}), ElementsAre(5, 8));
  EXPECT_THAT(next_of(forced, {8, 5}), ElementsAre(6, 5));
  EXPECT_THAT(next_of(forced, {5, 6, 7}), ElementsAre(8));
  EXPECT_THAT(next_of(forced, {5, 6, 7, 8}), IsEmpty());
}

TEST(ForcedPhrases, ThatRepeatThemselvesGoOnFromTheLongestPrefix) {
  const ForcedPhrases forced({{5, 5, 6}});
  EXPECT_EQ(forced.met(ForcedIds{5, 5, 5}), 2);
  EXPECT_THAT(next_of(forced, {5, 5, 5}), ElementsAre(6, 5));
}

TEST(ForcedPhrases, ThatAreThereTwiceCountOnce) { EXPECT_EQ(ForcedPhrases({{5, 6}, {5, 6}}).tokens(), 2); }

}  // namespace
}  // namespace heed
