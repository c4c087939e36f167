#include "kernels/op_cases.h"
#include "kernels/reference/finite_differences.h"
#include "kernels/reference/reference_backend.h"

namespace heed::test {
namespace {

constexpr Activation kActivations[] = {Activation::none, Activation::relu,      Activation::relu_squared,
                                       Activation::gelu, Activation::gelu_tanh, Activation::silu,
                                       Activation::tanh};

TEST(ReferenceLinear, BackwardIsTheGradientForEveryActivation) {
  ReferenceBackend backend;
  for (const Activation activation : kActivations) {
    for (const float p : {0.0F, 0.3F}) {
      SCOPED_TRACE(fmt::format("activation {}, dropout {}", static_cast<int>(activation), p));
      LinearCase c = LinearCase::make(kReferenceTypes, 4, 5, 6);
      c.activation = activation;
      c.dropout = dropout_of(p);
      const auto objective = [&] { return dot(c.forward(backend, kReferenceTypes).y, c.d_y); };
      const Guarded d_before = c.d_before(backend, c.forward(backend, kReferenceTypes), kReferenceTypes);
      EXPECT_TRUE(is_gradient(c.d_x(backend, kReferenceTypes, 1.0, d_before), c.x, objective));
      const auto d = c.d_weight(backend, kReferenceTypes, 1.0, d_before);
      EXPECT_TRUE(is_gradient(d.d_weight, c.weight, objective));
      EXPECT_TRUE(is_gradient(d.d_bias, c.bias, objective));
    }
  }
}

TEST(ReferenceLinear, GradientsScaleAndAdd) {
  ReferenceBackend backend;
  const LinearCase c = LinearCase::make(kReferenceTypes, 3, 4, 5);
  const Guarded plain = c.d_x(backend, kReferenceTypes);
  const auto plain_weight = c.d_weight(backend, kReferenceTypes);
  const Guarded start_x = random(DType::f64, 3, 4, 90), start_weight = random(DType::f64, 5, 4, 91);
  const Guarded start_bias = random(DType::f64, 1, 5, 92);
  const Guarded d_x = clone(start_x), d_weight = clone(start_weight), d_bias = clone(start_bias);
  backend.linear_input_gradient(
      {.d_y = c.d_y.view(), .weight = {c.weight.view()}, .d_x = d_x.view(), .write = Write::add, .scale = 0.25});
  backend.linear_weight_gradient({.d_y = c.d_y.view(),
                                  .x = c.x.view(),
                                  .d_weight = d_weight.view(),
                                  .d_bias = d_bias.view(),
                                  .write = Write::add,
                                  .scale = 0.25});
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(d_x.get(2, i), start_x.get(2, i) + 0.25 * plain.get(2, i));
    EXPECT_DOUBLE_EQ(d_weight.get(1, i), start_weight.get(1, i) + 0.25 * plain_weight.d_weight.get(1, i));
    EXPECT_DOUBLE_EQ(d_bias.get(0, i), start_bias.get(0, i) + 0.25 * plain_weight.d_bias.get(0, i));
  }
}

TEST(ReferenceLinear, DropoutIsTheCountersFactor) {
  ReferenceBackend backend;
  LinearCase c = LinearCase::make(kReferenceTypes, 6, 3, 8);
  const auto plain = c.forward(backend, kReferenceTypes);
  c.dropout = dropout_of(0.4F, 100);
  const auto dropped = c.forward(backend, kReferenceTypes);
  int64_t zeros = 0;
  for (int64_t r = 0; r < 6; ++r) {
    for (uint32_t column = 0; column < 8; ++column) {
      const bool kept = RowRandom(c.dropout.key, static_cast<uint64_t>(100 + r)).draw16(column) >= c.dropout.threshold;
      zeros += kept ? 0 : 1;
      EXPECT_EQ(dropped.y.get(r, column), kept ? plain.y.get(r, column) * static_cast<double>(c.dropout.scale()) : 0.0);
    }
  }
  EXPECT_GT(zeros, 0);
  EXPECT_LT(zeros, 48);
}

TEST(ReferenceLinear, ActivationBackwardMayBeInPlace) {
  ReferenceBackend backend;
  LinearCase c = LinearCase::make(kReferenceTypes, 4, 5, 6);
  c.activation = Activation::gelu;
  const auto saved = c.forward(backend, kReferenceTypes);
  const Guarded expected = c.d_before(backend, saved, kReferenceTypes);
  const Guarded d = clone(c.d_y);
  backend.activation_backward({.activation = c.activation,
                               .dropout = c.dropout,
                               .y = saved.y.view(),
                               .before = saved.before.view(),
                               .d_y = d.view(),
                               .d_before = d.view()});
  EXPECT_TRUE(same_bits(d, expected));
}

TEST(ReferenceGate, BackwardIsTheGradientForEveryActivation) {
  ReferenceBackend backend;
  for (const Activation activation : kActivations) {
    for (const float p : {0.0F, 0.3F}) {
      SCOPED_TRACE(fmt::format("activation {}, dropout {}", static_cast<int>(activation), p));
      GateCase c = GateCase::make(kReferenceTypes, activation, 4, 5);
      c.dropout = dropout_of(p);
      const auto objective = [&] { return dot(c.forward(backend, kReferenceTypes), c.d_y); };
      EXPECT_TRUE(is_gradient(c.backward(backend, kReferenceTypes), c.x, objective));
    }
  }
}

TEST(ReferenceActivation, HasKnownValues) {
  // x Phi(x) with Phi(1) = 0.8413447460685429; the others follow from their formulas by hand.
  ReferenceBackend backend;
  const std::pair<Activation, double> at_one[] = {{Activation::none, 1.0},
                                                  {Activation::relu, 1.0},
                                                  {Activation::gelu, 0.8413447460685429},
                                                  {Activation::gelu_tanh, 0.8411919906082768},
                                                  {Activation::silu, 0.7310585786300049},
                                                  {Activation::tanh, 0.7615941559557649}};
  for (const auto& [activation, expected] : at_one) {
    LinearCase c = LinearCase::make(kReferenceTypes, 1, 1, 1);
    c.activation = activation;
    c.x.set(0, 0, 2.0);
    c.weight.set(0, 0, 0.25);
    c.bias.set(0, 0, 0.5);
    EXPECT_NEAR(c.forward(backend, kReferenceTypes).y.get(0, 0), expected, 1e-15);
    EXPECT_EQ(c.forward(backend, kReferenceTypes).before.get(0, 0), 1.0);
  }
}

TEST(ReferenceActivation, SquaredReluIsTheSquareOfWhatIsPositive) {
  ReferenceBackend backend;
  for (const auto& [x, expected] : {std::pair{-3.0, 0.0}, std::pair{0.5, 0.25}, std::pair{3.0, 9.0}}) {
    LinearCase c = LinearCase::make(kReferenceTypes, 1, 1, 1);
    c.activation = Activation::relu_squared;
    c.x.set(0, 0, x);
    c.weight.set(0, 0, 1.0);
    c.bias.set(0, 0, 0.0);
    EXPECT_EQ(c.forward(backend, kReferenceTypes).y.get(0, 0), expected);
  }
}

}  // namespace
}  // namespace heed::test
