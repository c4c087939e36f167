#include <limits>

#include "kernels/op_cases.h"
#include "kernels/reference/finite_differences.h"
#include "kernels/reference/reference_backend.h"

namespace heed::test {
namespace {

double total_loss(const Guarded& losses) {
  double total = 0.0;
  for (int64_t r = 0; r < losses.rows(); ++r) {
    total += losses.get(r, 0);
  }
  return total;
}

TEST(ReferenceLoss, LogitGradientIsTheGradient) {
  ReferenceBackend backend;
  for (const double smoothing : {0.0, 0.1}) {
    LossCase c = LossCase::make(kReferenceTypes, 5, 6, 9);
    c.smoothing = smoothing;
    LossCase of_logits = c;
    of_logits.x = random(DType::f64, 5, 9, 60);
    const auto objective = [&] { return total_loss(of_logits.of_logits(backend, kReferenceTypes).losses); };
    EXPECT_TRUE(is_gradient(of_logits.of_logits(backend, kReferenceTypes).d_logits, of_logits.x, objective));
    // The bias's gradient is the sum of the logits' over rows.
    const auto projected = c.forward(backend, kReferenceTypes);
    const Guarded ones(DType::f64, 5, 1), d_weight(DType::f64, 9, 1), d_bias(DType::f64, 1, 9);
    backend.fill(ones.view(), 1.0);
    backend.linear_weight_gradient(
        {.d_y = projected.d_logits.view(), .x = ones.view(), .d_weight = d_weight.view(), .d_bias = d_bias.view()});
    const auto projected_objective = [&] { return total_loss(c.forward(backend, kReferenceTypes).losses); };
    EXPECT_TRUE(is_gradient(d_bias, c.bias, projected_objective));
  }
}

TEST(ReferenceLoss, GradientThroughACapIsTheGradient) {
  ReferenceBackend backend;
  LossCase c = LossCase::make(kReferenceTypes, 5, 6, 9);
  c.cap = 1.5;
  const auto projected = c.forward(backend, kReferenceTypes);
  const Guarded ones(DType::f64, 5, 1), d_weight(DType::f64, 9, 1), d_bias(DType::f64, 1, 9);
  backend.fill(ones.view(), 1.0);
  backend.linear_weight_gradient(
      {.d_y = projected.d_logits.view(), .x = ones.view(), .d_weight = d_weight.view(), .d_bias = d_bias.view()});
  EXPECT_TRUE(is_gradient(d_bias, c.bias, [&] { return total_loss(c.forward(backend, kReferenceTypes).losses); }));
  // Capped logits, each below 1.5, can't tell one token of nine from the others by more than this.
  EXPECT_LT(projected.losses.get(0, 1), std::log(1.0 + 8.0 * std::exp(3.0)));
}

TEST(ReferenceSoftCap, IsTheHyperbolicTangentWithItsGradient) {
  ReferenceBackend backend;
  const Guarded x = random(DType::f64, 3, 7, 62, 3.0), d_y = random(DType::f64, 3, 7, 63);
  const auto capped = [&] {
    Guarded y = clone(x);
    backend.soft_cap({y.view(), 2.0});
    return y;
  };
  const Guarded y = capped(), d_x = clone(d_y);
  EXPECT_DOUBLE_EQ(y.get(1, 2), 2.0 * std::tanh(x.get(1, 2) / 2.0));
  backend.soft_cap_backward({y.view(), d_x.view(), 2.0});
  EXPECT_TRUE(is_gradient(d_x, x, [&] { return dot(capped(), d_y); }));
}

TEST(ReferenceLoss, HasKnownValuesAndIgnoresNegativeTargets) {
  ReferenceBackend backend;
  LossCase c{.x = Guarded(DType::f64, 2, 4), .targets = integers({2, -1}), .smoothing = 0.2};
  for (int64_t column = 0; column < 4; ++column) {
    c.x.set(0, column, column == 2 ? std::log(5.0) : 0.0);
    c.x.set(1, column, std::numeric_limits<double>::quiet_NaN());  // what is ignored isn't even looked at
  }
  const auto result = c.of_logits(backend, kReferenceTypes);
  // p = (1, 1, 5, 1) / 8, q = (0.05, 0.05, 0.85, 0.05)
  EXPECT_NEAR(result.losses.get(0, 0), std::log(8.0) - 0.85 * std::log(5.0), 1e-15);
  EXPECT_NEAR(result.losses.get(0, 1), std::log(8.0) - std::log(5.0), 1e-15);
  EXPECT_NEAR(result.d_logits.get(0, 0), 0.125 - 0.05, 1e-15);
  EXPECT_NEAR(result.d_logits.get(0, 2), 0.625 - 0.85, 1e-15);
  for (int64_t column = 0; column < 4; ++column) {
    EXPECT_EQ(result.d_logits.get(1, column), 0.0);
  }
  EXPECT_EQ(result.losses.get(1, 0), 0.0);
  EXPECT_EQ(result.losses.get(1, 1), 0.0);
}

TEST(ReferenceLoss, LogProbabilitiesAreTheLogitsMinusTheirLogSumExp) {
  ReferenceBackend backend;
  const LossCase c{.x = random(DType::f64, 3, 7, 61, 300.0), .targets = integers({4, 0, 6}), .smoothing = 0.0};
  const Guarded log_probs = c.log_probs(backend, kReferenceTypes);
  const auto losses = c.of_logits(backend, kReferenceTypes).losses;
  for (int64_t r = 0; r < 3; ++r) {
    double sum = 0.0;
    for (int64_t column = 0; column < 7; ++column) {
      sum += std::exp(log_probs.get(r, column));
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
    EXPECT_NEAR(-log_probs.get(r, static_cast<int64_t>(c.targets.get(0, r))), losses.get(r, 0), 1e-12);
  }
}

TEST(ReferenceAdam, OneStepIsAsComputedByHand) {
  // From zero moments, m / (1 - b1) = g and sqrt(v / (1 - b2)) = |g|: the first step is the rate, against g's sign.
  ReferenceBackend backend;
  AdamCase c = AdamCase::make(kReferenceTypes, 3);
  c.applied.set(0, 0, 0);
  c.settings.learning_rate = 0.1;
  c.settings.epsilon = 0.0;
  for (int64_t i = 0; i < 3; ++i) {
    c.weights.set(0, i, 2.0);
    c.gradients.set(0, i, i == 0 ? 3.0 : -0.5);
    c.first_moments.set(0, i, 0.0);
    c.second_moments.set(0, i, 0.0);
  }
  c.step(backend);
  EXPECT_NEAR(c.weights.get(0, 0), 1.9, 1e-15);
  EXPECT_NEAR(c.weights.get(0, 1), 2.1, 1e-15);
  EXPECT_NEAR(c.first_moments.get(0, 0), 0.3, 1e-15);
  EXPECT_NEAR(c.second_moments.get(0, 0), 0.18, 1e-15);
  EXPECT_EQ(c.copy.get(0, 1), static_cast<double>(static_cast<float>(bf16(2.1F))));
}

TEST(ReferenceAdam, TwoStepsFollowTheFormula) {
  ReferenceBackend backend;
  for (const WeightDecay kind : {WeightDecay::coupled, WeightDecay::decoupled, WeightDecay::cautious}) {
    AdamCase c = AdamCase::make(kReferenceTypes, 1);
    c.settings.decay_kind = kind;
    c.settings.weight_decay = 0.05;
    c.settings.max_norm = 1.5;  // against a norm of 3
    double w = c.weights.get(0, 0), m = c.first_moments.get(0, 0), v = c.second_moments.get(0, 0);
    for (const int64_t step : {4, 5}) {
      c.applied.set(0, 0, static_cast<double>(step - 1));
      c.step(backend);
      double g = c.gradients.get(0, 0) * 1.5 / (3.0 + 1e-6);
      const double decay = 0.05 * w;
      g += kind == WeightDecay::coupled ? decay : 0.0;
      m = 0.9 * m + 0.1 * g;
      w -= kind == WeightDecay::decoupled || (kind == WeightDecay::cautious && m * w >= 0.0) ? 0.01 * decay : 0.0;
      v = 0.98 * v + 0.02 * g * g;
      const double n = static_cast<double>(step);
      w -= 0.01 * (m / (1 - std::pow(0.9, n))) / (std::sqrt(v / (1 - std::pow(0.98, n))) + 1e-8);
      EXPECT_NEAR(c.weights.get(0, 0), w, 1e-14);
    }
  }
}

// Where two weights are equally large, the one that the step shrinks decays too.
TEST(ReferenceAdam, CautiousDecayNeverWorksAgainstTheStep) {
  ReferenceBackend backend;
  AdamCase c = AdamCase::make(kReferenceTypes, 2);
  c.applied.set(0, 0, 0);
  c.settings.learning_rate = 0.1;
  c.settings.epsilon = 0.0;
  c.settings.weight_decay = 0.5;
  c.settings.decay_kind = WeightDecay::cautious;
  for (int64_t i = 0; i < 2; ++i) {
    c.weights.set(0, i, 2.0);
    c.gradients.set(0, i, i == 0 ? 3.0 : -3.0);
    c.first_moments.set(0, i, 0.0);
    c.second_moments.set(0, i, 0.0);
  }
  c.step(backend);
  EXPECT_NEAR(c.weights.get(0, 0), 2.0 - 0.1 * 0.5 * 2.0 - 0.1, 1e-15);
  EXPECT_NEAR(c.weights.get(0, 1), 2.0 + 0.1, 1e-15);
}

TEST(ReferenceMuon, CautiousDecayNeverWorksAgainstTheDirection) {
  ReferenceBackend backend;
  MuonCase c = MuonCase::make(kReferenceTypes, 1, 2);
  c.decay_kind = WeightDecay::cautious;
  for (int64_t i = 0; i < 2; ++i) {
    c.weights.set(0, i, 2.0);
    c.moments.set(0, i, 0.0);
    c.gradients.set(0, i, i == 0 ? 3.0 : -3.0);
  }
  c.run(backend);  // with a rate of 0.1, scale 2 and decay 0.5, along +-1 / sqrt(2)
  EXPECT_NEAR(c.weights.get(0, 0), 2.0 - 0.1 * (2.0 / std::sqrt(2.0) + 0.5 * 2.0), 1e-15);
  EXPECT_NEAR(c.weights.get(0, 1), 2.0 + 0.1 * 2.0 / std::sqrt(2.0), 1e-15);
}

// Rows of lengths 3 and 4, and moments of 2 and 0: v = 0.75 v + 0.25 |d|^2 / 2.
TEST(ReferenceMuon, RowsAreDividedByTheirRunningSizeAndTheWholeKeepsItsNorm) {
  ReferenceBackend backend;
  MuonCase c = MuonCase::make(kReferenceTypes, 2, 2);
  c.set_row_moments(kReferenceTypes);
  for (int64_t i = 0; i < 2; ++i) {
    c.direction.set(0, i, 3.0 / std::sqrt(2.0));
    c.direction.set(1, i, i == 0 ? 4.0 : 0.0);
    c.row_moments.set(0, i, i == 0 ? 2.0 : 0.0);
  }
  backend.muon_rows({.direction = c.direction.view(),
                     .moments = c.row_moments.view(),
                     .squared_norm = c.squared_norm.view(),
                     .kept = 0.75,
                     .factors = c.row_factors.view()});
  const double first = 0.75 * 2.0 + 0.25 * 9.0 / 2.0, second = 0.25 * 16.0 / 2.0;
  EXPECT_NEAR(c.row_moments.get(0, 0), first, 1e-14);
  EXPECT_NEAR(c.row_moments.get(0, 1), second, 1e-14);
  const double whole = 5.0 / std::sqrt(9.0 / first + 16.0 / second);
  EXPECT_NEAR(c.row_factors.get(0, 0), whole / std::sqrt(first), 1e-7);
  EXPECT_NEAR(c.row_factors.get(0, 1), whole / std::sqrt(second), 1e-7);
}

TEST(ReferenceAdam, ANormThatIsNotFiniteChangesNothing) {
  ReferenceBackend backend;
  for (const double norm : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const AdamCase c = AdamCase::make(kReferenceTypes, 4);
    c.squared_norm.set(0, 0, norm);
    const AdamCase before = c.cloned(kReferenceTypes);
    c.step(backend);
    EXPECT_TRUE(same_bits(c.weights, before.weights));
    EXPECT_TRUE(same_bits(c.first_moments, before.first_moments));
    EXPECT_TRUE(same_bits(c.second_moments, before.second_moments));
    EXPECT_TRUE(same_bits(c.copy, before.copy));
    EXPECT_EQ(c.applied.get(0, 0), 2.0);
  }
}

TEST(ReferenceElements, FillCopyAddAndNormAreExact) {
  ReferenceBackend backend;
  const Guarded x = random(DType::f32, 3, 5, 70), y(DType::bf16, 3, 5), z(DType::f64, 3, 5);
  backend.copy(x.view(), y.view());
  backend.fill(z.view(), 0.5);
  backend.add(x.view(), z.view());
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 5; ++c) {
      const float value = host<float>(x.view())(r, c);
      EXPECT_EQ(host<bf16>(y.view())(r, c).bits, bf16(value).bits);
      EXPECT_EQ(host<double>(z.view())(r, c), 0.5 + static_cast<double>(value));
    }
  }
  const Guarded found(DType::f64, 1, 1);
  const View flat(host_address(z.view()), DType::f64, 1, 5, 5);
  backend.sum(flat, found.view());
  EXPECT_DOUBLE_EQ(found.get(0, 0), z.get(0, 0) + z.get(0, 1) + z.get(0, 2) + z.get(0, 3) + z.get(0, 4));
  backend.scale(z.view(), -2.0);
  EXPECT_EQ(z.get(2, 4), -2.0 * (0.5 + x.get(2, 4)));
  const Guarded norms(DType::f64, 1, 2);
  backend.squared_norms(x.view().row_range(1, 1), std::vector<ElementRange>{{1, 3}, {4, 1}}, norms.view());
  EXPECT_DOUBLE_EQ(norms.get(0, 0), std::pow(x.get(1, 1), 2) + std::pow(x.get(1, 2), 2) + std::pow(x.get(1, 3), 2));
  EXPECT_DOUBLE_EQ(norms.get(0, 1), std::pow(x.get(1, 4), 2));
  EXPECT_TRUE(y.untouched() && z.untouched() && norms.untouched() && found.untouched());
}

TEST(ReferenceBackendTest, DescribesItself) {
  const auto backend = make_reference_backend();
  EXPECT_EQ(backend->name(), "reference");
  EXPECT_EQ(backend->master_type(), DType::f64);
  EXPECT_EQ(make_reference_backend(DType::f32)->master_type(), DType::f32);
  EXPECT_TRUE(backend->supports(DType::f64) && backend->supports(DType::f32) && backend->supports(DType::bf16));
  EXPECT_FALSE(backend->supports(DType::i8));
  EXPECT_EQ(backend->threads(), 1);
  EXPECT_NE(backend->pack_matrix(Guarded(DType::f32, 2, 2).view()), nullptr);
}

}  // namespace
}  // namespace heed::test
