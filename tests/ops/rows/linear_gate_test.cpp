#include "ops/op_testing.h"

namespace heed::test {
namespace {

enum class WithBias : uint8_t { no, yes };

struct LinearCase {
  Activation activation;
  float dropout;
  WithBias bias;
};

class LinearGradient : public ::testing::TestWithParam<LinearCase> {};

TEST_P(LinearGradient, AgreesWithDifferences) {
  const LinearCase& c = GetParam();
  TestParameter weight("weight", {5, 4}, 2), bias("bias", {5}, 3);
  Differentiable function{.inputs = inputs(random_tensor({6, 4}, 1)), .parameters = {&weight}};
  if (c.bias == WithBias::yes) {
    function.parameters.push_back(&bias);
  }
  function.first_row = 17;
  function.run = [&](Pass& pass, const std::vector<Var>& x) {
    const LinearWeights weights{weight, c.bias == WithBias::yes ? bias.get() : nullptr};
    return Outcome{{linear(pass, x[0], weights, {c.activation, dropout_at("linear", c.dropout)})}};
  };
  EXPECT_TRUE(gradients_are_right(function));
}

std::vector<LinearCase> linear_cases() {
  std::vector<LinearCase> cases;
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                      Activation::silu, Activation::tanh, Activation::relu_squared}) {
    for (const float dropout : {0.0F, 0.4F}) {
      for (const WithBias bias : {WithBias::no, WithBias::yes}) {
        cases.push_back({activation, dropout, bias});
      }
    }
  }
  return cases;
}

std::string name_of_case(const ::testing::TestParamInfo<LinearCase>& info) {
  constexpr std::array kNames{"None", "Relu", "Gelu", "GeluTanh", "Silu", "Tanh", "ReluSquared"};
  return std::string(kNames[static_cast<size_t>(info.param.activation)]) +
         (info.param.dropout > 0.0F ? "Dropout" : "") + (info.param.bias == WithBias::yes ? "Bias" : "");
}

INSTANTIATE_TEST_SUITE_P(Ops, LinearGradient, ::testing::ValuesIn(linear_cases()), name_of_case);

TEST(Linear, OneInputReadByTwoLayersGetsBothGradients) {
  TestParameter first("first", {3, 4}, 2), second("second", {2, 4}, 3);
  const Differentiable function{
      .inputs = inputs(random_tensor({5, 4}, 1)),
      .parameters = {&first, &second},
      .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{{linear(pass, x[0], {first, nullptr}), linear(pass, x[0], {second, nullptr})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Linear, AWeightUsedTwiceAddsUpItsGradients) {
  TestParameter weight("weight", {4, 4}, 2), bias("bias", {4}, 3);
  const Differentiable function{
      .inputs = inputs(random_tensor({5, 4}, 1)),
      .parameters = {&weight, &bias},
      .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{{linear(pass, linear(pass, x[0], {weight, bias}, {Activation::silu, {}}), {weight, bias})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

// The bias belongs to one of the two uses alone, the earlier or the later one.
TEST(Linear, AWeightUsedWithAndWithoutABiasAddsUpItsGradients) {
  for (const size_t with_bias : {size_t{0}, size_t{1}}) {
    TestParameter weight("weight", {4, 4}, 2), bias("bias", {4}, 3);
    const Differentiable function{
        .inputs = inputs(random_tensor({5, 4}, 1)),
        .parameters = {&weight, &bias},
        .run = [&, with_bias](Pass& pass, const std::vector<Var>& x) {
          const std::array<LinearWeights, 2> uses{
              {{weight, with_bias == 0 ? bias.get() : nullptr}, {weight, with_bias == 1 ? bias.get() : nullptr}}};
          return Outcome{{linear(pass, linear(pass, x[0], uses[0]), uses[1])}};
        }};
    EXPECT_TRUE(gradients_are_right(function)) << with_bias;
  }
}

TEST(Linear, WhoseOutputIsUnusedHasNoGradient) {
  const auto backend = make_reference_backend();
  TestParameter weight("weight", {3, 4}, 2);
  Tape tape;
  Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{1});
  const Var x = make_var(*backend, random_tensor({5, 4}, 1).view());
  linear(pass, x, {weight, nullptr});
  tape.backward(*backend);
  EXPECT_TRUE(x.gradient().empty());
  EXPECT_EQ((*weight).trainable().writes(), 0);
}

TEST(Gate, GradientAgreesWithDifferencesForEveryActivation) {
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                      Activation::silu, Activation::tanh, Activation::relu_squared}) {
    for (const float dropout : {0.0F, 0.3F}) {
      const Differentiable function{.inputs = inputs(random_tensor({5, 6}, 1)),
                                    .parameters = {},
                                    .run =
                                        [&](Pass& pass, const std::vector<Var>& x) {
                                          return Outcome{{gate(pass, x[0], activation, dropout_at("gate", dropout))}};
                                        },
                                    .first_row = 3};
      EXPECT_TRUE(gradients_are_right(function)) << static_cast<int>(activation) << ", dropout " << dropout;
    }
  }
}

TEST(Linear, ErrorsNameTheInputTheWeightAndBothShapes) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var x = make_var(*backend, random_tensor({5, 3}, 1).view());
  TestParameter weight("encoder.inner.weight", {2, 4}, 2), fitting("fitting", {2, 3}, 3), bias("bias", {3}, 4),
      vector("vector", {3}, 5);
  expect_error<ShapeError>(
      [&] {
        linear(pass, x, {weight, nullptr});
      },
      {"linear: ", "f64[5, 3]", "encoder.inner.weight", "[2, 4]"});
  expect_error<ShapeError>([&] { linear(pass, x, {fitting, bias}); }, {"linear: ", "bias", "[3]", "2 outputs"});
  expect_error<ShapeError>([&] { linear(pass, x, {vector, nullptr}); }, {"linear: ", "vector", "[3]"});
}

TEST(Gate, AnOddNumberOfColumnsIsAnErrorThatNamesIt) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var x = make_var(*backend, random_tensor({5, 3}, 1).view());
  expect_error<ShapeError>([&] { gate(pass, x, Activation::silu, {}); }, {"gate: ", "f64[5, 3]", "halves"});
}

}  // namespace
}  // namespace heed::test
