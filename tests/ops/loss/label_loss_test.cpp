#include "ops/loss/label_loss.h"

#include "ops/op_testing.h"

namespace heed::test {
namespace {

TEST(LabelLoss, IsTheSumOfTheLabelsLosses) {
  const auto backend = make_reference_backend();
  Tensor values({1, 2}, DType::f64);
  set(values.view(), 0, 0, 2.0);
  set(values.view(), 0, 1, -1.0);
  const auto loss = [&](LabelLossKind kind, std::vector<double> targets) {
    Pass pass = Pass::infer(*backend, DType::f64);
    const Logits logits(make_var(*backend, values.view()));
    return label_loss(pass, logits, {std::move(targets), 2}, kind).total_smoothed();
  };
  EXPECT_NEAR(loss(LabelLossKind::sigmoid, {1, 0}), std::log(1 + std::exp(-2.0)) + std::log(1 + std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(loss(LabelLossKind::sigmoid, {0, 1}), std::log(1 + std::exp(2.0)) + std::log(1 + std::exp(1.0)), 1e-12);
  EXPECT_NEAR(loss(LabelLossKind::squared, {0.5, 3}), 1.5 * 1.5 / 2 + 16.0 / 2, 1e-12);
}

TEST(LabelLoss, GradientsAgreeWithDifferences) {
  const LabelTargets targets{{1, 0, 0, 1, 1, 1}, 3};
  for (const LabelLossKind kind : {LabelLossKind::sigmoid, LabelLossKind::squared}) {
    const Differentiable function{
        .inputs = inputs(random_tensor({2, 3}, 1)),
        .parameters = {},
        .run =
            [&](Pass& pass, const std::vector<Var>& x) {
              return Outcome{{}, label_loss(pass, Logits(x[0]), targets, kind).total_smoothed()};
            },
        .scale = 0.25};
    EXPECT_TRUE(gradients_are_right(function)) << static_cast<int>(kind);
  }
}

TEST(LabelLoss, ErrorsNameTargetsAndLogits) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Logits logits(make_var(*backend, random_tensor({2, 3}, 1).view()));
  expect_error<ShapeError>(
      [&] {
        label_loss(pass, logits, {{1, 0, 1}, 3}, LabelLossKind::sigmoid);
      },
      {"label_loss: ", "3 targets of 3 labels", "f64[2, 3]"});
}

}  // namespace
}  // namespace heed::test
