#include "propose/model_sizes.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

constexpr LearningRules kRules{.parameters_per_token = 4.0, .tokens_per_parameter = 10.0, .passes = 50.0};
constexpr ModelSize kSizes[] = {{64, 128, 2, 3}, {128, 256, 4, 4}, {256, 512, 4, 4}};

// A size has width^2 parameters; a machine computes so many parameters times tokens a second.
SizeChoice choose(double tokens, double seconds, double power = 1e9) {
  const auto parameters = [](const ModelSize& size) { return size.width * size.width; };
  return choose_size(kSizes, kRules, tokens, seconds, parameters,
                     [&](const ModelSize& size) { return power / static_cast<double>(parameters(size)); });
}

TEST(ChoiceOfSize, GrowsWithTheTextAndWithTheTime) {
  EXPECT_EQ(choose(1e6, 1e4).chosen.size.width, 256);
  EXPECT_EQ(choose(5e3, 1e4).chosen.size.width, 128) << "65,536 parameters would be more than 4 a token";
  EXPECT_EQ(choose(1e6, 1.0).chosen.size.width, 64);
}

TEST(ChoiceOfSize, SaysWhatWasTooSlow) {
  const SizeChoice choice = choose(1e6, 4.0);  // 256 reads 61,035 of 655,360 tokens
  EXPECT_EQ(choice.chosen.size.width, 128);
  ASSERT_EQ(choice.slower.size(), 1U);
  EXPECT_EQ(choice.slower.front().size.width, 256);
  EXPECT_NEAR(choice.slower.front().tokens_per_second, 1e9 / 65536, 1.0);
}

TEST(ChoiceOfSize, EndsBeforeTheTimeWhereMorePassesDoNotHelp) {
  const SizeChoice choice = choose(1000.0, 1e6);
  EXPECT_TRUE(choice.is_full);
  EXPECT_EQ(choice.seen, 50'000.0);
  EXPECT_FALSE(choose(1e6, 1.0).is_full);
}

TEST(ChoiceOfSize, IsTheSmallestWhereNoneFits) { EXPECT_EQ(choose(10.0, 1e-6).chosen.size.width, 64); }

}  // namespace
}  // namespace heed
