#include "ops/op_testing.h"

namespace heed::test {
namespace {

const Targets kTargets({1, 4, Targets::kIgnored, 0, 4});

TEST(OutputLoss, GradientAgreesWithDifferencesWhereTargetsAreIgnored) {
  for (const float smoothing : {0.0F, 0.1F, 0.9F}) {
    for (const bool with_bias : {false, true}) {
      TestParameter weight("weight", {6, 4}, 2), bias("bias", {6}, 3);
      Differentiable function{
          .inputs = inputs(random_tensor({5, 4}, 1)),
          .parameters = {&weight},
          .run =
              [&](Pass& pass, const std::vector<Var>& x) {
                const LinearWeights output{weight, with_bias ? bias.get() : nullptr};
                return Outcome{
                    {}, output_loss(pass, Hidden(x[0]), output, kTargets, Smoothing{smoothing}).total_smoothed()};
              },
          .scale = -0.37};
      if (with_bias) {
        function.parameters.push_back(&bias);
      }
      EXPECT_TRUE(gradients_are_right(function)) << smoothing << (with_bias ? ", bias" : "");
    }
  }
}

TEST(OutputLoss, AHiddenStateWithASecondReaderGetsBothGradients) {
  TestParameter weight("weight", {6, 4}, 2), other("other", {3, 4}, 3);
  for (const bool loss_first : {false, true}) {
    const Differentiable function{
        .inputs = inputs(random_tensor({5, 4}, 1)),
        .parameters = {&weight, &other},
        .run =
            [&](Pass& pass, const std::vector<Var>& x) {
              Outcome outcome;
              const auto lose = [&] {
                outcome.loss =
                    output_loss(pass, Hidden(x[0]), {weight, nullptr}, kTargets, Smoothing{0.1F}).total_smoothed();
              };
              if (loss_first) {
                lose();
              }
              outcome.outputs.push_back(linear(pass, x[0], {other, nullptr}));
              if (!loss_first) {
                lose();
              }
              return outcome;
            },
        .scale = 1.7};
    EXPECT_TRUE(gradients_are_right(function)) << loss_first;
  }
}

TEST(CrossEntropy, GradientAgreesWithDifferencesWhereTargetsAreIgnored) {
  for (const float smoothing : {0.0F, 0.1F}) {
    const Differentiable function{
        .inputs = inputs(random_tensor({5, 6}, 1, 2.0)),
        .parameters = {},
        .run =
            [&](Pass& pass, const std::vector<Var>& x) {
              return Outcome{{}, cross_entropy(pass, Logits(x[0]), kTargets, Smoothing{smoothing}).total_smoothed()};
            },
        .scale = 0.4};
    EXPECT_TRUE(gradients_are_right(function)) << smoothing;
  }
}

TEST(CrossEntropy, LogitsWithASecondReaderGetBothGradients) {
  TestParameter other("other", {3, 6}, 3);
  for (const bool loss_first : {false, true}) {
    const Differentiable function{.inputs = inputs(random_tensor({5, 6}, 1)),
                                  .parameters = {&other},
                                  .run =
                                      [&](Pass& pass, const std::vector<Var>& x) {
                                        Outcome outcome;
                                        const auto lose = [&] {
                                          outcome.loss =
                                              cross_entropy(pass, Logits(x[0]), kTargets, Smoothing{}).total_smoothed();
                                        };
                                        if (loss_first) {
                                          lose();
                                        }
                                        outcome.outputs.push_back(linear(pass, x[0], {other, nullptr}));
                                        if (!loss_first) {
                                          lose();
                                        }
                                        return outcome;
                                      },
                                  .scale = 1.7};
    EXPECT_TRUE(gradients_are_right(function)) << loss_first;
  }
}

// ---- what the losses are ----

class Losses : public ::testing::Test {
 protected:
  TokenLosses of_logits(Smoothing smoothing) {
    return cross_entropy(pass_, Logits(make_var(*backend_, logits_.view())), kTargets, smoothing);
  }
  double log_sum_exp(int64_t row) const {
    double sum = 0.0;
    for (int64_t c = 0; c < 6; ++c) {
      sum += std::exp(get(logits_.view(), row, c));
    }
    return std::log(sum);
  }

  std::unique_ptr<Backend> backend_ = make_reference_backend();
  Pass pass_ = Pass::infer(*backend_, DType::f64);
  Tensor logits_ = random_tensor({5, 6}, 1, 2.0);
};

TEST_F(Losses, EachRowFollowsTheFormula) {
  const double s = static_cast<double>(0.1F);
  const TokenLosses losses = of_logits(Smoothing{0.1F});
  EXPECT_EQ(losses.rows(), 5);
  EXPECT_EQ(losses.counted(), 4);
  double total = 0.0;
  for (int64_t r = 0; r < 5; ++r) {
    const int32_t target = kTargets.ids()[static_cast<size_t>(r)];
    if (target == Targets::kIgnored) {
      EXPECT_EQ(losses.smoothed(r), 0.0);
      EXPECT_EQ(losses.negative_log_likelihood(r), 0.0);
      continue;
    }
    double expected = log_sum_exp(r);
    for (int64_t c = 0; c < 6; ++c) {
      expected -= ((c == target ? 1.0 - s : 0.0) + s / 6.0) * get(logits_.view(), r, c);
    }
    EXPECT_NEAR(losses.smoothed(r), expected, 1e-12);
    EXPECT_NEAR(losses.negative_log_likelihood(r), log_sum_exp(r) - get(logits_.view(), r, target), 1e-12);
    total += expected;
  }
  EXPECT_NEAR(losses.total_smoothed(), total, 1e-12);
}

TEST_F(Losses, WithoutSmoothingAreTheNegativeLogLikelihood) {
  const TokenLosses losses = of_logits(Smoothing{0.0F});
  for (int64_t r = 0; r < 5; ++r) {
    EXPECT_EQ(losses.smoothed(r), losses.negative_log_likelihood(r));
  }
  EXPECT_EQ(losses.total_smoothed(), losses.total_negative_log_likelihood());
  EXPECT_EQ(losses.total_divergence(), losses.total_smoothed());
}

TEST_F(Losses, DivergenceIsTheLossMinusTheSmoothedTargetsEntropy) {
  const double s = static_cast<double>(0.1F);
  const TokenLosses losses = of_logits(Smoothing{0.1F});
  double divergence = 0.0;
  for (int64_t r = 0; r < 5; ++r) {
    const int32_t target = kTargets.ids()[static_cast<size_t>(r)];
    for (int64_t c = 0; target != Targets::kIgnored && c < 6; ++c) {
      const double q = (c == target ? 1.0 - s : 0.0) + s / 6.0;
      divergence += q * (std::log(q) - (get(logits_.view(), r, c) - log_sum_exp(r)));
    }
  }
  EXPECT_NEAR(losses.total_divergence(), divergence, 1e-12);
  EXPECT_GT(losses.total_divergence(), 0.0);
}

TEST_F(Losses, OfTheFusedProjectionEqualThoseOfItsLogits) {
  TestParameter weight("weight", {6, 3}, 2), bias("bias", {6}, 3);
  const Var x = make_var(*backend_, random_tensor({5, 3}, 4).view());
  const TokenLosses fused = output_loss(pass_, Hidden(x), {weight, bias}, kTargets, Smoothing{0.1F});
  const Logits logits(linear(pass_, x, {weight, bias}));
  const TokenLosses apart = cross_entropy(pass_, logits, kTargets, Smoothing{0.1F});
  for (int64_t r = 0; r < 5; ++r) {
    EXPECT_NEAR(fused.smoothed(r), apart.smoothed(r), 1e-12);
    EXPECT_NEAR(fused.negative_log_likelihood(r), apart.negative_log_likelihood(r), 1e-12);
  }
}

TEST(SmoothedTargetEntropy, IsZeroWithoutSmoothingAndAtMostLogV) {
  EXPECT_EQ(smoothed_target_entropy(100, Smoothing{0.0F}), 0.0);
  EXPECT_NEAR(smoothed_target_entropy(2, Smoothing{0.5F}), -(0.75 * std::log(0.75) + 0.25 * std::log(0.25)), 1e-15);
  EXPECT_LT(smoothed_target_entropy(100, Smoothing{0.999F}), std::log(100.0));
  EXPECT_EQ(smoothed_target_entropy(1, Smoothing{0.1F}), 0.0);
}

TEST(LossErrors, NameTheTargetItsRowAndTheVocabulary) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const TestParameter weight("output.weight", {6, 4}, 2), narrow_bias("narrow", {5}, 3);
  const Hidden x(make_var(*backend, random_tensor({2, 4}, 1).view()));
  const Hidden wide(make_var(*backend, random_tensor({2, 5}, 1).view()));
  const Logits z(make_var(*backend, random_tensor({2, 6}, 1).view()));
  const LinearWeights output{weight, nullptr};
  const auto fused = [&](const Targets& targets, float s) { output_loss(pass, x, output, targets, Smoothing{s}); };
  const auto plain = [&](const Targets& targets, float s) { cross_entropy(pass, z, targets, Smoothing{s}); };
  expect_error<ShapeError>(
      [&] {
        output_loss(pass, wide, output, Targets({1, 2}), Smoothing{});
      },
      {"output_loss: ", "f64[2, 5]", "output.weight", "[6, 4]"});
  expect_error<ShapeError>(
      [&] {
        output_loss(pass, x, {weight, narrow_bias}, Targets({1, 2}), Smoothing{});
      },
      {"output_loss: ", "bias [5]", "6 outputs"});
  for (const float s : {-0.1F, 1.0F, std::nanf("")}) {
    expect_error<ShapeError>([&] { fused(Targets({1, 2}), s); }, {"output_loss: ", "smoothing", "[0, 1)"});
    expect_error<ShapeError>([&] { plain(Targets({1, 2}), s); }, {"cross_entropy: ", "smoothing", "[0, 1)"});
  }
  expect_error<ShapeError>([&] { fused(Targets({1}), 0.0F); }, {"output_loss: ", "2 rows for 1 targets"});
  expect_error<ShapeError>([&] { plain(Targets({1, 2, 3}), 0.0F); }, {"cross_entropy: ", "2 rows for 3 targets"});
  expect_error<ShapeError>(
      [&] {
        fused(Targets({1, 6}), 0.0F);
      },
      {"output_loss: ", "target 6 in row 1", "vocabulary of 6"});
  expect_error<ShapeError>([&] { plain(Targets({-2, 1}), 0.0F); }, {"cross_entropy: ", "target -2 in row 0"});
}

TEST_F(Losses, LogSoftmaxIsTheLogitsMinusTheirLogSumExp) {
  const LogProbs log_probs = log_softmax(pass_, Logits(make_var(*backend_, logits_.view())));
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < 6; ++c) {
      EXPECT_NEAR(get(log_probs.var().value(), r, c), get(logits_.view(), r, c) - log_sum_exp(r), 1e-12);
    }
  }
}

TEST_F(Losses, LogSoftmaxInTrainingIsAnInternalError) {
  Tape tape;
  Pass training = Pass::train(*backend_, DType::f64, tape, RandomKey{1});
  const Logits logits(make_var(*backend_, logits_.view()));
  expect_error<InternalError>([&] { log_softmax(training, logits); }, {"log_softmax: ", "cross_entropy"});
}

TEST(Targets, CountThoseThatAreNotIgnored) {
  EXPECT_EQ(kTargets.counted(), 4);
  EXPECT_EQ(Targets({-1, -1}).counted(), 0);
}

}  // namespace
}  // namespace heed::test
