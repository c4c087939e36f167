#include "ops/rows/low_rank.h"

#include "ops/op_testing.h"

namespace heed::test {
namespace {

// A frozen matrix with a low-rank addition.
class Adapted {
 public:
  explicit Adapted(float dropout)
      : a("a", {2, 4}, 2),
        b("b", {5, 2}, 3),
        base_(random_tensor({5, 4}, 4)),
        matrix_("matrix", {5, 4}, WeightUse::product) {
    matrix_.borrow(base_.view(), nullptr);
    matrix_.add_low_rank(std::make_shared<LowRank>(LowRank{a, b, 1.7, dropout_at("adapter", dropout)}));
  }

  const Weight* matrix() const { return &matrix_; }
  TestParameter a, b;

 private:
  Tensor base_;
  Weight matrix_;
};

TEST(LowRank, GradientAgreesWithDifferencesUnderEveryActivationAndDropout) {
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
    for (const float dropout : {0.0F, 0.4F}) {
      Adapted adapted(dropout);
      TestParameter bias("bias", {5}, 6);
      const Differentiable function{.inputs = inputs(random_tensor({6, 4}, 1)),
                                    .parameters = {&adapted.a, &adapted.b, &bias},
                                    .run =
                                        [&](Pass& pass, const std::vector<Var>& x) {
                                          return Outcome{{linear(pass, x[0], {adapted.matrix(), bias},
                                                                 {activation, dropout_at("linear", dropout)})}};
                                        },
                                    .first_row = 11};
      EXPECT_TRUE(gradients_are_right(function)) << static_cast<int>(activation) << ", dropout " << dropout;
    }
  }
}

TEST(LowRank, AnInputThatIsReadTwiceGetsBothGradients) {
  for (const float dropout : {0.0F, 0.4F}) {
    Adapted first(dropout), second(dropout);
    const Differentiable function{.inputs = inputs(random_tensor({6, 4}, 1)),
                                  .parameters = {&first.a, &first.b, &second.a, &second.b},
                                  .run = [&](Pass& pass, const std::vector<Var>& x) {
                                    return Outcome{{linear(pass, x[0], {first.matrix(), nullptr}),
                                                    linear(pass, x[0], {second.matrix(), nullptr})}};
                                  }};
    EXPECT_TRUE(gradients_are_right(function)) << dropout;
  }
}

TEST(LowRank, AddsTheScaledProductToTheMatrix) {
  const auto backend = make_reference_backend();
  Adapted adapted(0.0F);
  Pass pass = Pass::infer(*backend, DType::f64);
  const Tensor x = random_tensor({3, 4}, 1);
  const Var y = linear(pass, make_var(*backend, x.view()), {adapted.matrix(), nullptr});
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t out = 0; out < 5; ++out) {
      double expected = 0.0;
      for (int64_t in = 0; in < 4; ++in) {
        double weight = get(adapted.matrix()->value().matrix, out, in);
        for (int64_t r = 0; r < 2; ++r) {
          weight += 1.7 * get(adapted.b.master(), out, r) * get(adapted.a.master(), r, in);
        }
        expected += get(x.view(), row, in) * weight;
      }
      EXPECT_NEAR(get(y.value(), row, out), expected, 1e-12);
    }
  }
}

// What lies before the first trained weight needs no gradient, and nothing is recorded for it.
TEST(Frozen, NothingIsRecordedBelowTheFirstTrainedWeight) {
  const auto backend = make_reference_backend();
  const Tensor values = random_tensor({4, 4}, 1);
  Weight table("table", {4, 4}, WeightUse::table), frozen("frozen", {4, 4}, WeightUse::product);
  table.borrow(values.view(), nullptr);
  frozen.borrow(values.view(), nullptr);
  TestParameter trained("trained", {3, 4}, 2);
  Tape tape;
  Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{1});
  const Tokens tokens({0, 3, 1});
  const std::vector<int32_t> positions{0, 1, 2};
  const Var x = embedding(pass, tokens, positions, 0, table, {}, {});
  const Var y = linear(pass, x, {&frozen, nullptr}, {Activation::gelu, {}});
  EXPECT_TRUE(tape.empty());
  EXPECT_FALSE(y.wants_gradient());
  Var z = linear(pass, y, {trained, nullptr});
  EXPECT_FALSE(tape.empty());
  Tensor upstream({3, 3}, DType::f64, backend->arena());
  fill_random(upstream.view(), 5);
  z.set_gradient(std::move(upstream));
  tape.backward(*backend);
  EXPECT_TRUE(y.gradient().empty());
  EXPECT_EQ((*trained).trainable().writes(), 1);
}

TEST(Frozen, ABiasIsTrainedWithoutItsMatrixAndTheMatrixWithoutItsBias) {
  for (const bool bias_is_trained : {true, false}) {
    TestParameter weight("weight", {5, 4}, 2), bias("bias", {5}, 3);
    const Tensor matrix_values = random_tensor({5, 4}, 7), bias_values = random_tensor({5}, 8);
    Weight matrix("matrix", {5, 4}, WeightUse::product), offset("offset", {5}, WeightUse::vector);
    matrix.borrow(matrix_values.view(), nullptr);
    offset.borrow(View(bias_values.view()), nullptr);
    const LinearWeights weights = bias_is_trained ? LinearWeights{&matrix, bias} : LinearWeights{weight, &offset};
    const Differentiable function{
        .inputs = inputs(random_tensor({6, 4}, 1)),
        .parameters = {bias_is_trained ? &bias : &weight},
        .run = [&](Pass& pass, const std::vector<Var>& x) { return Outcome{{linear(pass, x[0], weights)}}; }};
    EXPECT_TRUE(gradients_are_right(function)) << bias_is_trained;
  }
}

}  // namespace
}  // namespace heed::test
