#include "ops/op_testing.h"

namespace heed::test {
namespace {

struct NormParameters {
  TestParameter gain{"gain", {5}, 11, 1.0}, bias{"bias", {5}, 12};

  NormWeights layer() const { return {NormKind::layer, gain, bias, 1e-5}; }
  NormWeights rms() const { return {NormKind::rms, gain, nullptr, 1e-5}; }
  NormWeights of(NormKind kind) const { return kind == NormKind::layer ? layer() : rms(); }
  std::vector<TestParameter*> all(NormKind kind) {
    return kind == NormKind::layer ? std::vector<TestParameter*>{&gain, &bias} : std::vector<TestParameter*>{&gain};
  }
};

class AddNorm : public ::testing::TestWithParam<NormKind> {};

TEST_P(AddNorm, GradientOfTheSumAndItsNormAgreesWithDifferences) {
  for (const float dropout : {0.0F, 0.4F}) {
    NormParameters weights;
    const Differentiable function{.inputs = inputs(random_tensor({4, 5}, 1), random_tensor({4, 5}, 2)),
                                  .parameters = weights.all(GetParam()),
                                  .run =
                                      [&](Pass& pass, const std::vector<Var>& x) {
                                        const Stream s = add_norm(pass, x[0], x[1], weights.of(GetParam()),
                                                                  dropout_at("branch", dropout));
                                        return Outcome{{s.residual, s.normed}};
                                      },
                                  .first_row = 5};
    EXPECT_TRUE(gradients_are_right(function)) << "dropout " << dropout;
  }
}

TEST_P(AddNorm, GradientThroughTheNormedOutputAgreesWithDifferences) {
  NormParameters weights;
  const Differentiable function{
      .inputs = inputs(random_tensor({4, 5}, 1), random_tensor({4, 5}, 2)),
      .parameters = weights.all(GetParam()),
      .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{{add_norm(pass, x[0], x[1], weights.of(GetParam()), dropout_at("branch", 0.4F)).normed}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

// The branch's gradient must not include earlier contributions to the residual's gradient.
TEST_P(AddNorm, AResidualWithASecondReaderGetsBothGradients) {
  NormParameters weights;
  TestParameter other("other", {3, 5}, 13);
  const Differentiable function{.inputs = inputs(random_tensor({4, 5}, 1), random_tensor({4, 5}, 2)),
                                .parameters = weights.all(GetParam()),
                                .run = [&](Pass& pass, const std::vector<Var>& x) {
                                  const Stream s =
                                      add_norm(pass, x[0], x[1], weights.of(GetParam()), dropout_at("branch", 0.4F));
                                  return Outcome{{s.residual, s.normed, linear(pass, x[0], {other, nullptr})}};
                                }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST_P(AddNorm, GradientOfANormWithoutBranchAgreesWithDifferences) {
  NormParameters weights;
  TestParameter other("other", {3, 5}, 13);
  for (const bool read_elsewhere : {false, true}) {
    const Differentiable function{.inputs = inputs(random_tensor({4, 5}, 1)),
                                  .parameters = weights.all(GetParam()),
                                  .run = [&](Pass& pass, const std::vector<Var>& x) {
                                    Outcome outcome{{norm(pass, x[0], weights.of(GetParam()))}};
                                    if (read_elsewhere) {
                                      outcome.outputs.push_back(linear(pass, x[0], {other, nullptr}));
                                    }
                                    return outcome;
                                  }};
    EXPECT_TRUE(gradients_are_right(function)) << read_elsewhere;
  }
}

// A chain as in pre-norm: the next sublayer reads each residual, and a layer reads the normed copy.
TEST_P(AddNorm, GradientThroughAChainOfSublayersAgreesWithDifferences) {
  NormParameters first, second;
  TestParameter weight("weight", {5, 5}, 14);
  const Differentiable function{.inputs = inputs(random_tensor({3, 5}, 1), random_tensor({3, 5}, 2)),
                                .parameters = {&first.gain, &second.gain, &weight},
                                .run = [&](Pass& pass, const std::vector<Var>& x) {
                                  Stream s = add_norm(pass, x[0], x[1], first.of(GetParam()), dropout_at("a", 0.2F));
                                  const Var branch = linear(pass, s.normed, {weight, nullptr});
                                  s = add_norm(pass, s.residual, branch, second.of(GetParam()), dropout_at("b", 0.2F));
                                  return Outcome{{s.normed}};
                                }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST_P(AddNorm, GradientWithGainsAboveOneAgreesWithDifferences) {
  NormParameters weights;
  NormWeights above_one = weights.of(GetParam());
  above_one.gain_form = NormGain::plus_one;
  const Differentiable function{.inputs = inputs(random_tensor({4, 5}, 1), random_tensor({4, 5}, 2)),
                                .parameters = weights.all(GetParam()),
                                .run = [&](Pass& pass, const std::vector<Var>& x) {
                                  const Stream s = add_norm(pass, x[0], x[1], above_one, {});
                                  return Outcome{{s.residual, s.normed}};
                                }};
  EXPECT_TRUE(gradients_are_right(function));
}

std::string name_of_kind(const ::testing::TestParamInfo<NormKind>& test) {
  return test.param == NormKind::layer ? "Layer" : "Rms";
}

INSTANTIATE_TEST_SUITE_P(Ops, AddNorm, ::testing::Values(NormKind::layer, NormKind::rms), name_of_kind);

TEST(Add, GradientOfASumWithoutNormAgreesWithDifferences) {
  TestParameter other("other", {3, 5}, 13);
  for (const bool read_elsewhere : {false, true}) {
    const Differentiable function{.inputs = inputs(random_tensor({4, 5}, 1), random_tensor({4, 5}, 2)),
                                  .parameters = {},
                                  .run = [&](Pass& pass, const std::vector<Var>& x) {
                                    Outcome outcome{{add(pass, x[0], x[1], dropout_at("branch", 0.4F))}};
                                    if (read_elsewhere) {
                                      outcome.outputs.push_back(linear(pass, x[0], {other, nullptr}));
                                    }
                                    return outcome;
                                  }};
    EXPECT_TRUE(gradients_are_right(function)) << read_elsewhere;
  }
}

TEST(AddNormErrors, ShowBothOperands) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const NormParameters weights;
  const Var x = make_var(*backend, random_tensor({4, 5}, 1).view());
  const Var fewer_rows = make_var(*backend, random_tensor({3, 5}, 1).view());
  const Var wider = make_var(*backend, random_tensor({4, 6}, 1).view());
  for (const Var& other : {fewer_rows, wider}) {
    const std::string shape = other.value().text();
    expect_error<ShapeError>([&] { add(pass, x, other, {}); }, {"add: ", "residual f64[4, 5]", "branch " + shape});
    expect_error<ShapeError>([&] { add_norm(pass, x, other, weights.layer(), {}); },
                             {"add: ", "residual f64[4, 5]", "branch " + shape});
  }
  expect_error<ShapeError>([&] { norm(pass, wider, weights.layer()); }, {"norm: ", "f64[4, 6]", "gain", "[5]"});
  expect_error<ShapeError>([&] { add_norm(pass, wider, wider, weights.layer(), {}); },
                           {"norm: ", "f64[4, 6]", "gain", "[5]"});
}

// A norm would otherwise read past the end of a bias of the wrong width.
TEST(AddNormErrors, NameABiasOfAnotherWidth) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const NormParameters weights;
  const TestParameter narrow("narrow.bias", {4}, 3);
  const Var x = make_var(*backend, random_tensor({4, 5}, 1).view());
  expect_error<ShapeError>(
      [&] {
        norm(pass, x, {NormKind::layer, weights.gain, narrow, 1e-5});
      },
      {"norm: ", "f64[4, 5]", "narrow.bias", "[4]"});
}

}  // namespace
}  // namespace heed::test
