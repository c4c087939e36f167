#include "propose/both_ways.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

constexpr int64_t kBatch = 2048;
constexpr PairTokens kText{.source = 500'000.0, .target = 480'000.0};
// What the fewest passes read, 16 over both sides and 5 over three sentences for each, and translating as much as 1.2
// passes; and the most, 29 and 17.
constexpr double kFewest = 17.2 * 980'000.0 + 15.0 * 480'000.0, kMost = 30.2 * 980'000.0 + 51.0 * 480'000.0;

SizeChoice choice_of(double seen, bool is_full = false) {
  return {.chosen = {.size = {192, 512, 3, 4}, .parameters = 4'000'000, .tokens_per_second = 30'000.0},
          .slower = {},
          .seen = seen,
          .is_full = is_full};
}

TEST(BothWays, PayWhereTheTimeIsEnoughForTheFewestPasses) {
  EXPECT_FALSE(pays_both_ways(choice_of(0.99 * kFewest), kText));
  EXPECT_TRUE(pays_both_ways(choice_of(1.01 * kFewest), kText));
}

TEST(BothWays, HavePassesThatFollowTheTime) {
  const BothWaysRun fewest = both_ways_run(choice_of(kFewest), kText, kBatch, 14.0);
  EXPECT_NEAR(fewest.both.passes, 16.0, 1e-6);
  EXPECT_NEAR(fewest.one.passes, 5.0, 1e-6);
  EXPECT_EQ(fewest.both.updates, 7656) << "16 x 980,000 / 2,048";
  EXPECT_EQ(fewest.one.updates, 3516) << "5 x 3 x 480,000 / 2,048";
  EXPECT_NEAR(fewest.first_minutes, 14.0 * 16.0 * 980'000.0 / kFewest, 0.05);

  const BothWaysRun most = both_ways_run(choice_of(kMost, true), kText, kBatch, 60.0);
  EXPECT_TRUE(most.is_full && most.both.is_full && most.one.is_full);
  EXPECT_NEAR(most.both.passes, 29.0, 1e-6);
  EXPECT_NEAR(most.one.passes, 17.0, 1e-6);
  EXPECT_NEAR(both_ways_rules(kText).passes * kText.both(), kMost, 1.0);
}

TEST(BothWays, NeedPairsInTwoLanguages) {
  const Lines german(5000, "ein Hund in Berlin"), english(5000, "a dog outside Berlin");
  EXPECT_TRUE(suits_both_ways(german, english));
  EXPECT_FALSE(suits_both_ways(english, english));
  EXPECT_FALSE(suits_both_ways(Lines(4999, german.front()), Lines(4999, english.front())));
}

}  // namespace
}  // namespace heed
