// The loss against a teacher's distribution.
#include "ops/loss/lesson.h"
#include "ops/op_testing.h"

namespace heed::test {
namespace {

constexpr int64_t kTexts = 4, kWidth = 3, kTeacherWidth = 5, kTokens = 6;

// A teacher that is wider than its student, and has read the same text.
class DistilLossTest : public ::testing::Test {
 protected:
  Lesson lesson(Backend& backend, const Targets& targets, double temperature, double weight, double cap = 0.0) {
    Lesson made{.temperature = temperature, .weight = weight};
    Pass pass = Pass::infer(backend, DType::f64).giving(made);
    output_loss(pass, Hidden(make_var(backend, taught_.view())), {teacher_, nullptr}, targets, Smoothing{0.0F},
                SoftCapAt{cap});
    return made;
  }
  TokenLosses loss(Pass& pass, const Var& x, const Targets& targets, double temperature, double weight) {
    const Lesson given = lesson(pass.backend(), targets, temperature, weight);
    Pass student = pass.learning(given);
    return output_loss(student, Hidden(x), {student_, bias_.get()}, targets, Smoothing{0.1F});
  }

  Tensor taught_ = random_tensor({kTexts, kTeacherWidth}, 4);
  TestParameter teacher_{"teacher", {kTokens, kTeacherWidth}, 5}, student_{"student", {kTokens, kWidth}, 2},
      bias_{"bias", {kTokens}, 3};
};

TEST_F(DistilLossTest, GradientsAgreeWithDifferences) {
  struct Setting {
    double temperature, weight, cap;
  };
  for (const Targets& targets : {Targets({1, 0, 5, 2}), Targets({1, Targets::kIgnored, 5, Targets::kIgnored})}) {
    for (const Setting& tried : {Setting{1.0, 0.5, 0.0}, Setting{2.0, 1.0, 0.0}, Setting{0.5, 0.3, 2.0}}) {
      const auto run = [&](Pass& pass, const std::vector<Var>& x) {
        const Lesson given = lesson(pass.backend(), targets, tried.temperature, tried.weight, tried.cap);
        Pass student = pass.learning(given);
        const TokenLosses losses =
            output_loss(student, Hidden(x[0]), {student_, bias_.get()}, targets, Smoothing{0.1F}, SoftCapAt{tried.cap});
        return Outcome{{}, losses.total_smoothed()};
      };
      const Differentiable function{.inputs = inputs(random_tensor({kTexts, kWidth}, 1)),
                                    .parameters = {&student_, &bias_},
                                    .run = run,
                                    .scale = 0.25};
      EXPECT_TRUE(gradients_are_right(function)) << tried.temperature << " " << tried.weight << " " << tried.cap;
    }
  }
}

TEST_F(DistilLossTest, WithoutATeachersShareItIsTheUsualLoss) {
  const auto backend = make_reference_backend();
  const Targets targets({1, 0, 5, 2});
  const Tensor x = random_tensor({kTexts, kWidth}, 1);
  Pass pass = Pass::infer(*backend, DType::f64);
  const TokenLosses usual =
      output_loss(pass, Hidden(make_var(*backend, x.view())), {student_, bias_.get()}, targets, Smoothing{0.1F});
  const TokenLosses own = loss(pass, make_var(*backend, x.view()), targets, 3.0, 0.0);
  EXPECT_NEAR(own.total_smoothed(), usual.total_smoothed(), 1e-12);
  EXPECT_NEAR(own.total_divergence(), usual.total_divergence(), 1e-12);
  EXPECT_NEAR(own.total_negative_log_likelihood(), usual.total_negative_log_likelihood(), 1e-12);
}

// sum of p (log p - log r) at the temperature 2, times its square.
TEST_F(DistilLossTest, WithNothingElseItIsTheDivergenceFromTheTeacher) {
  const auto backend = make_reference_backend();
  const Targets targets({3, 3, 3, 3});
  const Tensor x = random_tensor({kTexts, kWidth}, 1);
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var rows = make_var(*backend, x.view());
  const TokenLosses found = loss(pass, rows, targets, 2.0, 1.0);
  const auto z = values_of(output_logits(pass, Hidden(rows), {student_, bias_.get()}).var().value());
  const auto t =
      values_of(output_logits(pass, Hidden(make_var(*backend, taught_.view())), {teacher_, nullptr}).var().value());
  double expected = 0.0;
  for (size_t row = 0; row < kTexts; ++row) {
    double of_z = 0.0, of_t = 0.0;
    for (size_t c = row * kTokens; c < (row + 1) * kTokens; ++c) {
      of_z += std::exp(z[c] / 2);
      of_t += std::exp(t[c] / 2);
    }
    for (size_t c = row * kTokens; c < (row + 1) * kTokens; ++c) {
      const double log_p = t[c] / 2 - std::log(of_t), log_r = z[c] / 2 - std::log(of_z);
      expected += 4 * std::exp(log_p) * (log_p - log_r);
    }
  }
  EXPECT_NEAR(found.total_smoothed(), expected, 1e-10);
  EXPECT_NEAR(found.total_divergence(), expected, 1e-10);
}

TEST_F(DistilLossTest, ErrorsNameTheRowsAndTokensOfBoth) {
  const auto backend = make_reference_backend();
  const Lesson given = lesson(*backend, Targets({1, 0, 5, 2}), 1.0, 0.5);
  Pass pass = Pass::infer(*backend, DType::f64).learning(given);
  const Tensor x = random_tensor({2, kWidth}, 1);
  expect_error<ShapeError>(
      [&] {
        output_loss(pass, Hidden(make_var(*backend, x.view())), {student_, nullptr}, Targets({1, 0}), Smoothing{0.0F});
      },
      {"output_loss: ", "a lesson of 4 rows over 6 tokens for 2 rows over 6"});
}

}  // namespace
}  // namespace heed::test
