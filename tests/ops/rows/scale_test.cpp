#include "ops/rows/scale.h"

#include "ops/op_testing.h"

namespace heed::test {
namespace {

TEST(Scaled, GradientAgreesWithDifferences) {
  TestParameter other("other", {3, 5}, 13);
  for (const bool read_elsewhere : {false, true}) {
    const Differentiable function{.inputs = inputs(random_tensor({4, 5}, 1)),
                                  .parameters = {},
                                  .run = [&](Pass& pass, const std::vector<Var>& x) {
                                    Outcome outcome{{scaled(pass, x[0], 0.3)}};
                                    if (read_elsewhere) {
                                      outcome.outputs.push_back(linear(pass, x[0], {other, nullptr}));
                                    }
                                    return outcome;
                                  }};
    EXPECT_TRUE(gradients_are_right(function)) << read_elsewhere;
  }
}

TEST(Scaled, ByOneIsWhatItWas) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var x = make_var(*backend, random_tensor({4, 5}, 1).view());
  EXPECT_TRUE(scaled(pass, x, 1.0).same_as(x));
  EXPECT_EQ(get(scaled(pass, x, 2.0).value(), 3, 4), 2.0 * get(x.value(), 3, 4));
}

}  // namespace
}  // namespace heed::test
