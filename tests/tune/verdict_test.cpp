#include "tune/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace heed {
namespace {

Verdict compared(const std::vector<double>& best, const std::vector<double>& recipe) {
  return compare_seeds(best, recipe);
}

TEST(Verdict, AGainAboveTheNoiseIsReal) {
  const Verdict verdict = compared({10.0, 10.2}, {8.0});
  EXPECT_EQ(verdict.gain, Gain::real);
  EXPECT_DOUBLE_EQ(verdict.difference, 10.1 - 8.0);
  EXPECT_NEAR(verdict.noise, 2.0 * std::sqrt(0.04 / 2.0 * 1.5), 1e-12);
}

TEST(Verdict, ADifferenceWithinWhatSeedsDoIsNoise) {
  EXPECT_EQ(compared({10.0, 9.0}, {9.2}).gain, Gain::noise);
  // The recipe's own seeds tell too.
  EXPECT_EQ(compared({10.0, 10.0}, {9.0, 10.5}).gain, Gain::noise);
  EXPECT_EQ(compared({10.0, 10.0}, {9.0, 9.1}).gain, Gain::real);
}

TEST(Verdict, ASecondSeedThatIsNoBetterConfirmsNothing) { EXPECT_NE(compared({100.0, 9.0}, {9.5}).gain, Gain::real); }

TEST(Verdict, WithoutASecondSeedNothingIsKnown) {
  EXPECT_EQ(compared({10.0}, {9.0}).gain, Gain::unknown);
  EXPECT_EQ(compared({}, {9.0}).gain, Gain::unknown);
}

TEST(Verdict, WorseIsNoGain) { EXPECT_EQ(compared({9.0, 8.0}, {9.5}).gain, Gain::none); }

}  // namespace
}  // namespace heed
