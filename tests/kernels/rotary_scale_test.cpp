#include "kernels/rotary_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

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

TEST(RotaryPairs, YarnsEndsOfTheRampAndItsMagnitudeCanBeSet) {
  const RotaryScale plain{RotaryScaling::yarn, 4.0, 4096.0};
  RotaryScale scale = plain;
  scale.slow_turns = 1.0, scale.fast_turns = 32.0;
  const RotaryPairs usual{128, 10000.0, plain}, spelt_out{128, 10000.0, scale};
  EXPECT_EQ(usual.frequency(33), spelt_out.frequency(33));
  scale.slow_turns = 4.0, scale.fast_turns = 8.0, scale.magnitude = 1.25;
  const RotaryPairs narrow{128, 10000.0, scale}, unscaled{128, 10000.0, {}};
  EXPECT_DOUBLE_EQ(narrow.frequency(26), unscaled.frequency(26));
  EXPECT_DOUBLE_EQ(narrow.frequency(36), unscaled.frequency(36) / 4.0);
  EXPECT_EQ(narrow.magnitude(), 1.25);
}

// In 8,192 positions of base 500,000 pair 28 of 64 turns 4.19 times, pair 35 once (0.9999 times).
TEST(RotaryPairs, Llama3SlowsPairsThatTurnLessThanFourTimes) {
  const RotaryPairs plain{128, 500000.0, {}}, llama{128, 500000.0, {RotaryScaling::llama3, 8.0, 8192.0}};
  for (int64_t c = 0; c < 64; ++c) {
    const double turns = 8192.0 * plain.frequency(c) / (2.0 * std::numbers::pi), f = plain.frequency(c);
    const double share = (turns - 1.0) / 3.0;
    const double expected = turns > 4.0 ? f : turns < 1.0 ? f / 8.0 : (1.0 - share) * f / 8.0 + share * f;
    EXPECT_DOUBLE_EQ(llama.frequency(c), expected) << c;
  }
  EXPECT_EQ(llama.frequency(28), plain.frequency(28));
  EXPECT_LT(llama.frequency(31), plain.frequency(31));
  EXPECT_EQ(llama.magnitude(), 1.0);
}

}  // namespace
}  // namespace heed::test
