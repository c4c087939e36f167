// The ops that blocks of some published models add: norms of heads, soft caps, dropout alone.
#include "ops/op_testing.h"

namespace heed::test {
namespace {

TEST(HeadNorm, GradientAgreesWithDifferencesForHeadsAndForAllColumns) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    for (const int64_t groups : {1, 2}) {
      TestParameter gain("gain", {6 / groups}, 11, 1.0), bias("bias", {6 / groups}, 12);
      const bool layer = kind == NormKind::layer;
      Differentiable function{.inputs = inputs(random_tensor({4, 9}, 1)),
                              .parameters = {&gain},
                              .run = [&](Pass& pass, const std::vector<Var>& x) {
                                const NormWeights weights{kind, gain, layer ? bias.get() : nullptr, 1e-3};
                                return Outcome{{head_norm(pass, {x[0], 2, 6}, {groups}, weights)}};
                              }};
      if (layer) {
        function.parameters.push_back(&bias);
      }
      EXPECT_TRUE(gradients_are_right(function)) << static_cast<int>(kind) << ", " << groups << " groups";
    }
  }
}

// The same as by a norm for each head.
TEST(HeadNorm, HeadsMayHaveGainsOfTheirOwn) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    TestParameter gain("gain", {6}, 11, 1.0), bias("bias", {6}, 12);
    const NormWeights weights{kind, gain, kind == NormKind::layer ? bias.get() : nullptr, 1e-3};
    Differentiable function{.inputs = inputs(random_tensor({4, 9}, 1)),
                            .parameters = {&gain},
                            .run = [&](Pass& pass, const std::vector<Var>& x) {
                              return Outcome{{head_norm(pass, {x[0], 2, 6}, {2}, weights)}};
                            }};
    if (kind == NormKind::layer) {
      function.parameters.push_back(&bias);
    }
    EXPECT_TRUE(gradients_are_right(function)) << static_cast<int>(kind);
  }
}

// As queries, keys and values of one projection: the norms' gradients join what the columns beside them have.
TEST(HeadNorm, OfColumnsThatAreReadElsewhereTooAddsItsGradient) {
  TestParameter gain("gain", {3}, 11, 1.0), other("other", {2, 9}, 13);
  for (const bool norm_first : {false, true}) {
    const Differentiable function{.inputs = inputs(random_tensor({4, 9}, 1)),
                                  .parameters = {&gain, &other},
                                  .run = [&](Pass& pass, const std::vector<Var>& x) {
                                    const NormWeights weights{NormKind::rms, gain, nullptr, 1e-3};
                                    Outcome outcome;
                                    const auto norms = [&] {
                                      outcome.outputs.push_back(head_norm(pass, {x[0], 0, 6}, {2}, weights));
                                      outcome.outputs.push_back(head_norm(pass, {x[0], 6, 3}, {1}, weights));
                                    };
                                    if (norm_first) {
                                      norms();
                                    }
                                    outcome.outputs.push_back(linear(pass, x[0], {other, nullptr}));
                                    if (!norm_first) {
                                      norms();
                                    }
                                    return outcome;
                                  }};
    EXPECT_TRUE(gradients_are_right(function)) << norm_first;
  }
}

TEST(HeadNorm, ErrorsNameTheGroupsAndTheWeight) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const TestParameter gain("gain", {4}, 3);
  const Var x = make_var(*backend, random_tensor({4, 6}, 1).view());
  const NormWeights weights{NormKind::rms, gain, nullptr, 1e-5};
  expect_error<ShapeError>([&] { head_norm(pass, Columns::all(x), {4}, weights); },
                           {"head_norm: ", "4 groups do not divide f64[4, 6]"});
  expect_error<ShapeError>([&] { head_norm(pass, Columns::all(x), {2}, weights); },
                           {"head_norm: ", "groups of 3 columns", "gain", "[4]"});
}

TEST(SoftCap, GradientAgreesWithDifferences) {
  TestParameter weight("weight", {6, 4}, 2), bias("bias", {6}, 3);
  const Differentiable function{.inputs = inputs(random_tensor({5, 4}, 1)),
                                .parameters = {&weight, &bias},
                                .run = [&](Pass& pass, const std::vector<Var>& x) {
                                  const Var y = linear(pass, x[0], {weight, bias});
                                  soft_cap(pass, y, {0.8});
                                  return Outcome{{y}};
                                }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Drop, GradientAgreesWithDifferences) {
  TestParameter gain("gain", {4}, 2, 1.0);
  const Differentiable function{.inputs = inputs(random_tensor({5, 4}, 1)),
                                .parameters = {&gain},
                                .run =
                                    [&](Pass& pass, const std::vector<Var>& x) {
                                      const Var y = norm(pass, x[0], {NormKind::rms, gain, nullptr, 1e-3});
                                      drop(pass, y, dropout_at("site", 0.4F));
                                      return Outcome{{y}};
                                    },
                                .first_row = 3};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(OutputLoss, OfCappedLogitsHasTheGradientOfDifferences) {
  const Targets targets({1, 4, Targets::kIgnored, 0, 4});
  TestParameter weight("weight", {6, 4}, 2, 2.0), bias("bias", {6}, 3);
  const Differentiable function{
      .inputs = inputs(random_tensor({5, 4}, 1)),
      .parameters = {&weight, &bias},
      .run =
          [&](Pass& pass, const std::vector<Var>& x) {
            return Outcome{
                {}, output_loss(pass, Hidden(x[0]), {weight, bias}, targets, Smoothing{0.1F}, {1.5}).total_smoothed()};
          },
      .scale = -0.37};
  EXPECT_TRUE(gradients_are_right(function));
}

// Training's loss and the logits that decoding sees are of one model.
TEST(OutputLoss, OfCappedLogitsIsTheCrossEntropyOfTheLogitsOfTheSameCap) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const TestParameter weight("weight", {6, 4}, 2, 2.0), bias("bias", {6}, 3);
  const Hidden x(make_var(*backend, random_tensor({5, 4}, 1).view()));
  const Targets targets({1, 4, 2, 0, 4});
  const TokenLosses fused = output_loss(pass, x, {weight, bias}, targets, Smoothing{0.1F}, {1.5});
  const Logits logits = output_logits(pass, x, {weight, bias}, {1.5});
  const TokenLosses apart = cross_entropy(pass, logits, targets, Smoothing{0.1F});
  for (int64_t r = 0; r < 5; ++r) {
    EXPECT_NEAR(fused.smoothed(r), apart.smoothed(r), 1e-12);
    EXPECT_NEAR(fused.negative_log_likelihood(r), apart.negative_log_likelihood(r), 1e-12);
    for (int64_t c = 0; c < 6; ++c) {
      EXPECT_LT(std::abs(get(logits.var().value(), r, c)), 1.5);
    }
  }
}

}  // namespace
}  // namespace heed::test
