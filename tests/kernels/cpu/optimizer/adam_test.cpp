#include <limits>

#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

// Masters are f32 whatever the storage type, so Adam does not depend on it.
class CpuAdam : public CpuTest {
 protected:
  void expect_same(const AdamCase& settings, Tolerance tolerance = kF32) {
    const AdamCase actual = settings.cloned(types()), expected = settings.cloned(kReferenceTypes);
    actual.step(cpu());
    expected.step(reference());
    EXPECT_TRUE(close(actual.weights, expected.weights, tolerance));
    EXPECT_TRUE(close(actual.first_moments, expected.first_moments, tolerance));
    EXPECT_TRUE(close(actual.second_moments, expected.second_moments, tolerance));
    EXPECT_TRUE(actual.gradients.untouched());
    EXPECT_TRUE(actual.copy.untouched());
    for (int64_t i = 0; i < actual.copy.columns(); ++i) {
      const float weight = host<float>(actual.weights.view())(0, i);
      EXPECT_EQ(host<bf16>(actual.copy.view())(0, i).bits, bf16(weight).bits) << i;
    }
  }
};

TEST_P(CpuAdam, MatchesTheReference) {
  for (const int64_t n : kColumns) {
    for (const WeightDecay kind : {WeightDecay::coupled, WeightDecay::decoupled}) {
      for (const double max_norm : {0.0, 0.5, 100.0}) {
        SCOPED_TRACE(fmt::format("{} weights, decay {}, max norm {}", n, static_cast<int>(kind), max_norm));
        AdamCase c = AdamCase::make(types(), n);
        c.settings.decay_kind = kind;
        c.settings.weight_decay = 0.1;
        c.settings.max_norm = max_norm;
        expect_same(c);
      }
    }
  }
  AdamCase large = AdamCase::make(types(), 50003);
  large.applied.set(0, 0, 99999);
  expect_same(large);
}

TEST_P(CpuAdam, MatchesTheReferenceWithTheUsualDecayOfTheSecondMoment) {
  // 0.999 in f32 is off by 1.3e-8, which is 1.3e-5 of 1 - 0.999.
  AdamCase c = AdamCase::make(types(), 257);
  c.settings.beta2 = 0.999;
  for (const int64_t step : {1, 1000}) {
    c.applied.set(0, 0, static_cast<double>(step - 1));
    expect_same(c, {3e-5, 3e-5});
  }
}

TEST_P(CpuAdam, MatchesTheReferenceFromZeroMomentsAndWithoutACopy) {
  AdamCase c = AdamCase::make(types(), 257);
  c.applied.set(0, 0, 0);
  cpu().fill(c.first_moments.view(), 0.0);
  cpu().fill(c.second_moments.view(), 0.0);
  c.gradients.set(0, 5, 0.0);
  expect_same(c);
  c.copy = {};
  expect_same(c);
}

TEST_P(CpuAdam, ANormThatIsNotFiniteChangesNothing) {
  for (const double norm : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const AdamCase c = AdamCase::make(types(), 257).cloned(types());
    c.squared_norm.set(0, 0, norm);
    c.gradients.set(0, 7, norm);
    const AdamCase before = c.cloned(types());
    c.step(cpu());
    EXPECT_TRUE(same_bits(c.weights, before.weights));
    EXPECT_TRUE(same_bits(c.first_moments, before.first_moments));
    EXPECT_TRUE(same_bits(c.second_moments, before.second_moments));
    EXPECT_TRUE(same_bits(c.copy, before.copy));
    EXPECT_EQ(c.applied.get(0, 0), 2.0);
    c.squared_norm.set(0, 0, 9.0);  // shared by all copies of the case
  }
}

TEST_P(CpuAdam, OnlyTheGivenRangesAreSwept) {
  AdamCase c = AdamCase::make(types(), 257);
  const std::vector<ElementRange> ranges{{3, 20}, {40, 1}, {100, 157}};
  c.settings.ranges = ranges;
  const AdamCase actual = c.cloned(types()), expected = c.cloned(kReferenceTypes);
  actual.step(cpu());
  expected.step(reference());
  EXPECT_TRUE(close(actual.weights, expected.weights, kF32));
  EXPECT_TRUE(close(actual.first_moments, expected.first_moments, kF32));
  EXPECT_EQ(actual.weights.get(0, 30), c.weights.get(0, 30));
  EXPECT_NE(actual.weights.get(0, 40), c.weights.get(0, 40));
  EXPECT_EQ(actual.applied.get(0, 0), 3.0);
}

TEST_P(CpuAdam, RangesThatDoNotDecayAreSpared) {
  const std::vector<ElementRange> ranges{{0, 100, Decays::no}, {100, 157, Decays::yes}};
  for (const WeightDecay kind : {WeightDecay::coupled, WeightDecay::decoupled}) {
    AdamCase c = AdamCase::make(types(), 257), without = c;
    c.settings.decay_kind = without.settings.decay_kind = kind;
    c.settings.weight_decay = 0.5;
    without.settings.weight_decay = 0.0;
    c.settings.ranges = without.settings.ranges = ranges;
    expect_same(c);
    const AdamCase decayed = c.cloned(types());
    decayed.step(cpu());
    const AdamCase plain = without.cloned(types());
    plain.step(cpu());
    EXPECT_EQ(decayed.weights.get(0, 99), plain.weights.get(0, 99));
    EXPECT_NE(decayed.weights.get(0, 100), plain.weights.get(0, 100));
  }
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuAdam);

}  // namespace
}  // namespace heed::test
