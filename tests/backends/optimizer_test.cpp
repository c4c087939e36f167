#include <limits>

#include "backends/backend_test.h"

namespace heed::test {
namespace {

// Masters are f32 whatever the storage type, so Adam does not depend on it.
class BackendAdam : public BackendTest {
 protected:
  void expect_same(const AdamCase& settings, Tolerance tolerance = kF32) {
    const AdamCase actual = settings.cloned(types()), expected = settings.cloned(kReferenceTypes);
    actual.step(backend());
    expected.step(reference());
    EXPECT_TRUE(close(actual.weights, expected.weights, tolerance));
    EXPECT_TRUE(close(actual.first_moments, expected.first_moments, tolerance));
    EXPECT_TRUE(close(actual.second_moments, expected.second_moments, tolerance));
    EXPECT_EQ(actual.applied.get(0, 0), expected.applied.get(0, 0));
    EXPECT_TRUE(actual.gradients.untouched());
    EXPECT_TRUE(actual.copy.untouched());
    for (int64_t i = 0; i < actual.copy.columns(); ++i) {
      const float weight = host<float>(actual.weights.view())(0, i);
      EXPECT_EQ(host<bf16>(actual.copy.view())(0, i).bits, bf16(weight).bits) << i;
    }
  }
};
HEED_IN_EACH_SETTING(BackendAdam, any_call);

TEST_P(BackendAdam, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t n : sizes({.cpu = kColumns, .cuda = {1, 3, 4, 5, 257, 1029}})) {
      for (const WeightDecay kind : {WeightDecay::coupled, WeightDecay::decoupled, WeightDecay::cautious}) {
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
    AdamCase large = AdamCase::make(types(), here(50003, 20003));
    large.applied.set(0, 0, 99999);
    expect_same(large);
  });
}

TEST_P(BackendAdam, MatchesTheReferenceWithTheUsualDecayOfTheSecondMoment) {
  // 0.999 in f32 is off by 1.3e-8, which is 1.3e-5 of 1 - 0.999.
  AdamCase c = AdamCase::make(types(), 257);
  c.settings.beta2 = 0.999;
  for (const int64_t step : {1, 1000}) {
    c.applied.set(0, 0, static_cast<double>(step - 1));
    expect_same(c, {3e-5, 3e-5});
  }
}

TEST_P(BackendAdam, MatchesTheReferenceFromZeroMomentsAndWithoutACopy) {
  AdamCase c = AdamCase::make(types(), 257);
  c.applied.set(0, 0, 0);
  backend().fill(c.first_moments.view(), 0.0);
  backend().fill(c.second_moments.view(), 0.0);
  c.gradients.set(0, 5, 0.0);
  expect_same(c);
  c.copy = {};
  expect_same(c);
}

TEST_P(BackendAdam, ANormThatIsNotFiniteChangesNothing) {
  for (const double norm : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const AdamCase c = AdamCase::make(types(), 257).cloned(types());
    c.squared_norm.set(0, 0, norm);
    c.gradients.set(0, 7, norm);
    const AdamCase before = c.cloned(types());
    c.step(backend());
    EXPECT_TRUE(same_bits(c.weights, before.weights));
    EXPECT_TRUE(same_bits(c.first_moments, before.first_moments));
    EXPECT_TRUE(same_bits(c.second_moments, before.second_moments));
    EXPECT_TRUE(same_bits(c.copy, before.copy));
    EXPECT_EQ(c.applied.get(0, 0), 2.0);
    c.squared_norm.set(0, 0, 9.0);  // shared by all copies of the case
  }
}

TEST_P(BackendAdam, OnlyTheGivenRangesAreSwept) {
  with_each_layout([&] {
    AdamCase c = AdamCase::make(types(), 20000);
    const std::vector<ElementRange> ranges{{3, 20}, {40, 1}, {50, 0}, {100, 157}, {300, 9000}, {10000, 8192}};
    c.settings.ranges = ranges;
    const AdamCase actual = c.cloned(types()), expected = c.cloned(kReferenceTypes);
    actual.step(backend());
    expected.step(reference());
    EXPECT_TRUE(close(actual.weights, expected.weights, kF32));
    EXPECT_TRUE(close(actual.first_moments, expected.first_moments, kF32));
    EXPECT_TRUE(close(actual.second_moments, expected.second_moments, kF32));
    EXPECT_EQ(host<bf16>(actual.copy.view())(0, 30).bits, 0xffff) << "as it was";
    EXPECT_EQ(actual.applied.get(0, 0), 3.0);
    for (const int64_t spared : {0, 2, 23, 39, 41, 50, 99, 257, 299, 9300, 9999, 18192}) {
      EXPECT_EQ(actual.weights.get(0, spared), c.weights.get(0, spared)) << spared;
    }
    for (const int64_t swept : {3, 22, 40, 100, 256, 300, 9299, 10000, 18191}) {
      EXPECT_NE(actual.weights.get(0, swept), c.weights.get(0, swept)) << swept;
    }
  });
}

TEST_P(BackendAdam, RangesThatDoNotDecayAreSpared) {
  const std::vector<ElementRange> ranges{{0, 100, Decays::no}, {100, 157, Decays::yes}};
  for (const WeightDecay kind : {WeightDecay::coupled, WeightDecay::decoupled}) {
    AdamCase c = AdamCase::make(types(), 257), without = c;
    c.settings.decay_kind = without.settings.decay_kind = kind;
    c.settings.weight_decay = 0.5;
    without.settings.weight_decay = 0.0;
    c.settings.ranges = without.settings.ranges = ranges;
    expect_same(c);
    const AdamCase decayed = c.cloned(types());
    decayed.step(backend());
    const AdamCase plain = without.cloned(types());
    plain.step(backend());
    EXPECT_EQ(decayed.weights.get(0, 99), plain.weights.get(0, 99));
    EXPECT_NE(decayed.weights.get(0, 100), plain.weights.get(0, 100));
  }
}

class BackendNorms : public BackendTest {};
HEED_IN_EACH_SETTING(BackendNorms, any_call);

TEST_P(BackendNorms, OfRangesMatchTheReference) {
  for (const int64_t n : sizes({.cpu = {1, 15, 16, 17, 257, 100003}, .cuda = {1, 31, 257, 8192, 8193, 40003}})) {
    SCOPED_TRACE(n);
    const Guarded x = random(DType::f32, 1, n, 49, 3.0);
    const std::vector<ElementRange> ranges{{0, n}, {n / 2, n - n / 2}, {0, 0}, {n - 1, 1}};
    const Guarded actual(DType::f64, 1, 4), expected(DType::f64, 1, 4);
    backend().squared_norms(x.view(), ranges, actual.view());
    reference().squared_norms(x.view(), ranges, expected.view());
    EXPECT_TRUE(close(actual, expected, here<Tolerance>({1e-6, 0.0}, {1e-12, 0.0})));
    const Guarded alone(DType::f64, 1, 1);
    backend().squared_norms(x.view(), std::span(ranges).subspan(1, 1), alone.view());
    EXPECT_EQ(alone.get(0, 0), actual.get(0, 1)) << "other ranges change nothing";
  }
}

TEST_P(BackendNorms, NoticeWhatIsNotFinite) {
  const Guarded x = random(DType::f32, 1, 100, 49), result(DType::f64, 1, 1);
  const std::vector<ElementRange> all{{0, 100}};
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    x.set(0, 63, static_cast<double>(bad));
    backend().squared_norms(x.view(), all, result.view());
    EXPECT_FALSE(std::isfinite(result.get(0, 0)));
  }
  x.set(0, 63, 3e38);  // whose square is beyond f32
  backend().squared_norms(x.view(), all, result.view());
  EXPECT_NEAR(result.get(0, 0) / 9e76, 1.0, 1e-6);
}

TEST_P(BackendNorms, SumsInOrder) {
  for (const int64_t n : {1, 31, 32, 33, 1001}) {
    const Guarded x = random(DType::f64, 1, n, 49, 1e8), actual(DType::f64, 1, 1), expected(DType::f64, 1, 1);
    backend().sum(x.view(), actual.view());
    reference().sum(x.view(), expected.view());
    EXPECT_TRUE(same_bits(actual, expected));
  }
}

class BackendMuon : public BackendTest {};
HEED_IN_EACH_SETTING(BackendMuon, any_call);

TEST_P(BackendMuon, MatchesTheReference) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {17, 32}, {17, 33}, {130, 257}}) {
    for (const auto& [max_norm, decay_kind] : {std::pair{0.0, WeightDecay::decoupled},
                                               {0.5, WeightDecay::decoupled},
                                               {0.0, WeightDecay::cautious},
                                               {0.5, WeightDecay::cautious}}) {
      SCOPED_TRACE(
          fmt::format("{} x {}, max norm {}, decay {}", rows, columns, max_norm, static_cast<int>(decay_kind)));
      MuonCase c = MuonCase::make(types(), rows, columns);
      c.max_norm = max_norm;
      c.decay_kind = decay_kind;
      const MuonCase actual = c.cloned(types()), expected = c.cloned(kReferenceTypes);
      actual.run(backend());
      expected.run(reference());
      EXPECT_TRUE(close(actual.moments, expected.moments, kF32));
      EXPECT_TRUE(close(actual.direction, expected.direction, stored()));
      // The step is taken by the direction as it was rounded.
      const MuonCase stepped = c.cloned(kReferenceTypes);
      reference().muon_step({.weights = stepped.weights.view(),
                             .direction = actual.direction.view(),
                             .squared_norm = stepped.squared_norm.view(),
                             .learning_rate = 0.1,
                             .scale = 2.0,
                             .weight_decay = 0.5,
                             .decay_kind = c.decay_kind});
      EXPECT_TRUE(close(actual.weights, stepped.weights, kF32));
      EXPECT_TRUE(actual.gradients.untouched());
      EXPECT_TRUE(actual.direction.untouched());
      EXPECT_TRUE(actual.copy.untouched());
      EXPECT_EQ(host<bf16>(actual.copy.view())(0, 0).bits, bf16(host<float>(actual.weights.view())(0, 0)).bits);
    }
  }
}

TEST_P(BackendMuon, RowsMatchTheReference) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {17, 33}, {300, 70}, {6, 20'000}}) {
    SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
    MuonCase c = MuonCase::make(types(), rows, columns);
    c.set_row_moments(types());
    const MuonCase actual = c.cloned(types());
    actual.run(backend());
    // By the direction as it was rounded.
    const MuonCase expected = c.cloned(kReferenceTypes);
    reference().muon_rows({.direction = actual.direction.view(),
                           .moments = expected.row_moments.view(),
                           .squared_norm = expected.squared_norm.view(),
                           .kept = 0.75,
                           .factors = expected.row_factors.view()});
    EXPECT_TRUE(close(actual.row_moments, expected.row_moments, kF32));
    EXPECT_TRUE(close(actual.row_factors, expected.row_factors, kF32));
    reference().muon_step({.weights = expected.weights.view(),
                           .direction = actual.direction.view(),
                           .row_factors = actual.row_factors.view(),
                           .squared_norm = expected.squared_norm.view(),
                           .learning_rate = 0.1,
                           .scale = 2.0,
                           .weight_decay = 0.5});
    EXPECT_TRUE(close(actual.weights, expected.weights, kF32));
    EXPECT_TRUE(actual.row_moments.untouched());
    EXPECT_TRUE(actual.row_factors.untouched());
  }
}

TEST_P(BackendMuon, RowsOfADirectionThatIsNoneHaveNoFactors) {
  MuonCase c = MuonCase::make(types(), 5, 9);
  c.set_row_moments(types());
  const MuonCase found = c.cloned(types()), before = c.cloned(types());
  found.squared_norm.set(0, 0, std::numeric_limits<double>::infinity());
  found.run(backend());
  EXPECT_TRUE(same_bits(found.row_moments, before.row_moments));
  EXPECT_TRUE(same_bits(found.weights, before.weights));
  EXPECT_EQ(found.row_factors.get(0, 3), 0.0);
}

TEST_P(BackendMuon, ANormThatIsNotFiniteChangesNothing) {
  const MuonCase c = MuonCase::make(types(), 5, 9).cloned(types());
  const MuonCase before = c.cloned(types());
  c.squared_norm.set(0, 0, std::numeric_limits<double>::quiet_NaN());
  c.gradients.set(2, 3, std::numeric_limits<double>::quiet_NaN());
  c.run(backend());
  EXPECT_TRUE(same_bits(c.weights, before.weights));
  EXPECT_TRUE(same_bits(c.moments, before.moments));
  EXPECT_EQ(c.direction.get(2, 3), 0.0);
}

TEST_P(BackendMuon, AZeroGradientGivesNoDirection) {
  const MuonCase c = MuonCase::make(types(), 5, 9);
  backend().fill(c.gradients.view(), 0.0);
  backend().fill(c.moments.view(), 0.0);
  c.run(backend());
  EXPECT_EQ(c.direction.get(2, 3), 0.0);
}

}  // namespace
}  // namespace heed::test
