#include "ops/rows/add_columns.h"

#include "ops/op_testing.h"
#include "ops/rows/add_norm.h"

namespace heed::test {
namespace {

// What is added may be read elsewhere too, and the columns beside stay what they are.
TEST(AddToColumns, GradientAgreesWithDifferences) {
  TestParameter matrix("matrix", {7, 5}, 13), other("other", {3, 4}, 14);
  for (const bool read_elsewhere : {false, true}) {
    const Differentiable function{.inputs = inputs(random_tensor({6, 5}, 1), random_tensor({6, 4}, 2)),
                                  .parameters = {&matrix},
                                  .run = [&](Pass& pass, const std::vector<Var>& x) {
                                    const Var sum = linear(pass, x[0], {matrix, nullptr});
                                    add_to_columns(pass, {sum, 2, 4}, x[1]);
                                    Outcome outcome{{sum}};
                                    if (read_elsewhere) {
                                      outcome.outputs.push_back(linear(pass, x[1], {other, nullptr}));
                                    }
                                    return outcome;
                                  }};
    EXPECT_TRUE(gradients_are_right(function)) << read_elsewhere;
  }
}

TEST(AddToColumns, ChangesOnlyThoseColumns) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var x = make_var(*backend, random_tensor({3, 5}, 1).view()),
            y = make_var(*backend, random_tensor({3, 2}, 2).view());
  const std::vector<double> before = values_of(x.value());
  add_to_columns(pass, {x, 1, 2}, y);
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 5; ++c) {
      const double added = c == 1 || c == 2 ? get(y.value(), r, c - 1) : 0.0;
      EXPECT_EQ(get(x.value(), r, c), before[static_cast<size_t>(5 * r + c)] + added);
    }
  }
}

TEST(AddToColumns, RefusesOtherShapes) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var x = make_var(*backend, random_tensor({3, 5}, 1).view()),
            y = make_var(*backend, random_tensor({3, 2}, 2).view());
  expect_error<ShapeError>([&] { add_to_columns(pass, {x, 1, 3}, y); }, {"add_to_columns: ", "f64[3, 2]"});
}

}  // namespace
}  // namespace heed::test
