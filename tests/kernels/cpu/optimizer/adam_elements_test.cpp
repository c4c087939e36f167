#include <limits>
#include <set>

#include "kernels/cpu/cpu_testing.h"
#include "kernels/cpu/product/product_kernels.h"

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

TEST_P(CpuAdam, SquaredNormsOfRangesMatchTheReference) {
  for (const int64_t n : {1, 15, 16, 17, 257, 100003}) {
    SCOPED_TRACE(n);
    const Guarded x = random(DType::f32, 1, n, 49, 3.0);
    const std::vector<ElementRange> ranges{{0, n}, {n / 2, n - n / 2}, {n - 1, 1}};
    const Guarded actual(DType::f64, 1, 3), expected(DType::f64, 1, 3);
    cpu().squared_norms(x.view(), ranges, actual.view());
    reference().squared_norms(x.view(), ranges, expected.view());
    EXPECT_TRUE(close(actual, expected, {1e-6, 0.0}));
    const Guarded alone(DType::f64, 1, 1);
    cpu().squared_norms(x.view(), std::span(ranges).subspan(1, 1), alone.view());
    EXPECT_EQ(alone.get(0, 0), actual.get(0, 1)) << "other ranges change nothing";
  }
  const Guarded x = random(DType::f32, 1, 100, 49), result(DType::f64, 1, 1);
  const std::vector<ElementRange> all{{0, 100}};
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    x.set(0, 63, static_cast<double>(bad));
    cpu().squared_norms(x.view(), all, result.view());
    EXPECT_FALSE(std::isfinite(result.get(0, 0)));
  }
  x.set(0, 63, 3e38);  // whose square is beyond f32
  cpu().squared_norms(x.view(), all, result.view());
  EXPECT_NEAR(result.get(0, 0) / 9e76, 1.0, 1e-6);
}

TEST_P(CpuAdam, SumsInOrder) {
  const Guarded x = random(DType::f64, 1, 1001, 49, 1e8), actual(DType::f64, 1, 1), expected(DType::f64, 1, 1);
  cpu().sum(x.view(), actual.view());
  reference().sum(x.view(), expected.view());
  EXPECT_TRUE(same_bits(actual, expected));
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

class CpuMuon : public CpuTest {};

TEST_P(CpuMuon, MatchesTheReference) {
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {17, 33}, {130, 257}}) {
    for (const double max_norm : {0.0, 0.5}) {
      SCOPED_TRACE(fmt::format("{} x {}, max norm {}", rows, columns, max_norm));
      MuonCase c = MuonCase::make(types(), rows, columns);
      c.max_norm = max_norm;
      const MuonCase actual = c.cloned(types()), expected = c.cloned(kReferenceTypes);
      actual.run(cpu());
      expected.run(reference());
      EXPECT_TRUE(close(actual.moments, expected.moments, kF32));
      EXPECT_TRUE(close(actual.direction, expected.direction, stored()));
      EXPECT_TRUE(close(actual.weights, expected.weights, stored()));
      EXPECT_TRUE(actual.gradients.untouched());
      EXPECT_TRUE(actual.direction.untouched());
      EXPECT_TRUE(actual.copy.untouched());
    }
  }
}

TEST_P(CpuMuon, ANormThatIsNotFiniteChangesNothing) {
  const MuonCase c = MuonCase::make(types(), 5, 9).cloned(types());
  const MuonCase before = c.cloned(types());
  c.squared_norm.set(0, 0, std::numeric_limits<double>::quiet_NaN());
  c.run(cpu());
  EXPECT_TRUE(same_bits(c.weights, before.weights));
  EXPECT_TRUE(same_bits(c.moments, before.moments));
  EXPECT_EQ(c.direction.get(2, 3), 0.0);
}

TEST_P(CpuMuon, AZeroGradientGivesNoDirection) {
  const MuonCase c = MuonCase::make(types(), 5, 9);
  cpu().fill(c.gradients.view(), 0.0);
  cpu().fill(c.moments.view(), 0.0);
  c.run(cpu());
  EXPECT_EQ(c.direction.get(2, 3), 0.0);
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuMuon);

class CpuElements : public CpuTest {};

TEST_P(CpuElements, FillWritesExactlyTheElements) {
  for (const int64_t columns : kColumns) {
    const Guarded x(storage(), 3, columns);
    cpu().fill(x.view(), -1.5);
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        ASSERT_EQ(x.get(r, c), -1.5);
      }
    }
    EXPECT_TRUE(x.untouched());
  }
}

TEST_P(CpuElements, CopyConverts) {
  for (const int64_t columns : kColumns) {
    for (const DType from : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(columns);
      const Guarded x = random(from, 5, columns, 61, 1.0, {1, 1});
      if (columns > 2) {
        x.set(0, 0, std::numeric_limits<double>::infinity());
        x.set(1, 1, 3.3e38);
        x.set(2, 2, -0.0);
        x.set(3, 0, 0x1.01p0);  // half way between two bf16: down to the even one, and up to it
        x.set(4, 0, 0x1.03p0);
      }
      const Guarded y(storage(), 5, columns);
      cpu().copy(x.view(), y.view());
      EXPECT_TRUE(same_bits(y, converted(x, storage())));
      EXPECT_TRUE(y.untouched());
    }
  }
}

TEST_P(CpuElements, CopyKeepsNaN) {
  for (const DType from : {DType::f32, DType::bf16}) {
    const Guarded x(from, 2, 33), y(storage(), 2, 33);  // all 0xff: NaN
    cpu().fill(y.view(), 0.0);
    cpu().copy(x.view(), y.view());
    EXPECT_TRUE(std::isnan(y.get(0, 0)) && std::isnan(y.get(1, 32)));
  }
}

TEST_P(CpuElements, AddAddsInPlace) {
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    const Guarded x = random(storage(), 5, columns, 62), start = random(storage(), 5, columns, 63, 1.0, {0, 2});
    const Guarded actual = clone(start), expected = converted(start, DType::f64);
    cpu().add(x.view(), actual.view());
    reference().add(x.view(), expected.view());
    EXPECT_TRUE(close(actual, expected, stored()));
  }
}

TEST_P(CpuElements, ScaleScalesInPlace) {
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    const Guarded start = random(storage(), 5, columns, 66);
    const Guarded actual = clone(start), expected = converted(start, DType::f64);
    cpu().scale(actual.view(), -0.3);
    reference().scale(expected.view(), -0.3);
    EXPECT_TRUE(close(actual, expected, stored()));
  }
}

TEST_P(CpuElements, BlendMovesTowardsTheOther) {
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    const Guarded from = random(types().master, 1, columns, 67), start = random(types().master, 1, columns, 68);
    const Guarded actual = clone(start), expected = converted(start, DType::f64);
    cpu().blend(from.view(), actual.view(), 0.25);
    reference().blend(from.view(), expected.view(), 0.25);
    EXPECT_TRUE(close(actual, expected, kF32));
    EXPECT_NEAR(actual.get(0, 0), 0.75 * start.get(0, 0) + 0.25 * from.get(0, 0), 1e-6);
  }
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuElements);

class CpuBackendFacts : public CpuTest {};

TEST_P(CpuBackendFacts, DescribesItself) {
  EXPECT_EQ(cpu().name(), "cpu");
  EXPECT_EQ(cpu().device(), Device::cpu);
  EXPECT_EQ(cpu().master_type(), DType::f32);
  EXPECT_TRUE(cpu().supports(DType::f32));
  EXPECT_TRUE(cpu().supports(DType::bf16));
  EXPECT_FALSE(cpu().supports(DType::f64));
  EXPECT_EQ(cpu().threads(), 2);
  EXPECT_THROW(make_cpu_backend(0), ConfigError);
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuBackendFacts);

TEST(CpuInstructionSets, EachRunsItsOwnKernels) {
  // All suites here rely on this: the columns of a product's panels follow from the set's vectors.
  std::set<int64_t> widths;
  for (const int64_t set : instruction_sets()) {
    use_instruction_set(set);
    widths.insert(cpu::product_kernels().panel_columns);
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(widths.size(), instruction_sets().size());
}

}  // namespace
}  // namespace heed::test
