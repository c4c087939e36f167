#include <array>

#include "ops/op_testing.h"

namespace heed::test {
namespace {

constexpr std::array<int32_t, 5> kSelected{3, 0, 3, 2, 3};  // of five: one three times, two never

TEST(SelectRows, TakesTheRowsInTheRequestedOrder) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Tensor values = random_tensor({5, 4}, 1);
  const Var y = select_rows(pass, make_var(*backend, values.view(), 7), kSelected);
  EXPECT_EQ(y.rows(), 5);
  EXPECT_EQ(y.first_row(), 7U);
  for (int64_t r = 0; r < y.rows(); ++r) {
    for (int64_t c = 0; c < y.columns(); ++c) {
      EXPECT_EQ(get(y.value(), r, c), get(values.view(), kSelected[static_cast<size_t>(r)], c));
    }
  }
}

TEST(SelectRows, GradientAgreesWithDifferencesWhereRowsRepeatAndAreLeftOut) {
  const Differentiable function{
      .inputs = inputs(random_tensor({5, 4}, 1)), .parameters = {}, .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{{select_rows(pass, x[0], kSelected)}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(SelectRows, AMatrixWithASecondReaderGetsBothGradients) {
  TestParameter weight("weight", {3, 4}, 2);
  for (const bool selected_first : {false, true}) {
    const Differentiable function{.inputs = inputs(random_tensor({5, 4}, 1)),
                                  .parameters = {&weight},
                                  .run = [&](Pass& pass, const std::vector<Var>& x) {
                                    Outcome outcome;
                                    if (selected_first) {
                                      outcome.outputs.push_back(select_rows(pass, x[0], kSelected));
                                    }
                                    outcome.outputs.push_back(linear(pass, x[0], {weight, nullptr}));
                                    if (!selected_first) {
                                      outcome.outputs.push_back(select_rows(pass, x[0], kSelected));
                                    }
                                    return outcome;
                                  }};
    EXPECT_TRUE(gradients_are_right(function)) << selected_first;
  }
}

TEST(SelectRows, ErrorsNameTheRowItsIndexAndTheMatrix) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var x = make_var(*backend, random_tensor({5, 4}, 1).view());
  const auto select = [&](std::vector<int32_t> rows) { select_rows(pass, x, rows); };
  expect_error<ShapeError>([&] { select({0, 5}); }, {"select_rows: ", "row 5, at index 1", "f64[5, 4]"});
  expect_error<ShapeError>([&] { select({-1}); }, {"select_rows: ", "row -1, at index 0"});
  expect_error<ShapeError>([&] { select({}); }, {"select_rows: ", "no row", "f64[5, 4]"});
}

}  // namespace
}  // namespace heed::test
