#include "kernels/rotary_scale.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed::test {
namespace {

TEST(RotaryPairs, LinearScalingDividesEveryPosition) {
  const RotaryPairs plain{64, 10000.0, {}}, linear{64, 10000.0, {RotaryScaling::linear, 4.0, 0.0}};
  for (int64_t c = 0; c < 32; ++c) {
    EXPECT_DOUBLE_EQ(plain.frequency(c), std::pow(10000.0, -static_cast<double>(c) / 32.0));
    EXPECT_DOUBLE_EQ(linear.frequency(c), plain.frequency(c) / 4.0);
  }
  EXPECT_EQ(linear.magnitude(), 1.0);
}

TEST(RotaryPairs, NtkScalingSlowsTheSlowestPairByTheFactorAndTheFastestNotAtAll) {
  const RotaryPairs plain{64, 10000.0, {}}, ntk{64, 10000.0, {RotaryScaling::ntk, 4.0, 0.0}};
  EXPECT_EQ(ntk.frequency(0), 1.0);
  EXPECT_DOUBLE_EQ(ntk.frequency(31), plain.frequency(31) / 4.0);
  // The same as a larger base.
  EXPECT_DOUBLE_EQ(ntk.frequency(7), std::pow(10000.0 * std::pow(4.0, 64.0 / 62.0), -7.0 / 32.0));
  EXPECT_EQ((RotaryPairs{2, 10000.0, {RotaryScaling::ntk, 4.0, 0.0}}.frequency(0)), 1.0);
}

// The pairs that turn more than 32 times in 4096 positions are those before 20, fewer than once those after 46.
TEST(RotaryPairs, YarnSlowsOnlyThePairsThatTurnSlowly) {
  const RotaryPairs plain{128, 10000.0, {}}, yarn{128, 10000.0, {RotaryScaling::yarn, 4.0, 4096.0}};
  EXPECT_DOUBLE_EQ(yarn.frequency(20), plain.frequency(20));
  EXPECT_DOUBLE_EQ(yarn.frequency(46), plain.frequency(46) / 4.0);
  const double ramp = (33.0 - 20.0) / (46.0 - 20.0);
  EXPECT_NEAR(yarn.frequency(33), plain.frequency(33) * (ramp / 4.0 + 1.0 - ramp), 1e-15);
  EXPECT_DOUBLE_EQ(yarn.magnitude(), 0.1 * std::log(4.0) + 1.0);
}

}  // namespace
}  // namespace heed::test
