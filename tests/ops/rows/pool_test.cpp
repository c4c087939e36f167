#include "ops/rows/pool.h"

#include "ops/op_testing.h"

namespace heed::test {
namespace {

const Segments& sequences() {
  static const Segments segments(std::vector<int64_t>{3, 1, 2});
  return segments;
}

TEST(Pool, TakesTheFirstRowTheMeanOrTheMaximumOfEachColumn) {
  const auto backend = make_reference_backend();
  Tensor values({6, 2}, DType::f64);
  const double numbers[6][2] = {{1, 9}, {4, 2}, {1, 1}, {-5, 7}, {2, 2}, {3, -8}};
  for (int64_t r = 0; r < 6; ++r) {
    for (int64_t c = 0; c < 2; ++c) {
      set(values.view(), r, c, numbers[r][c]);
    }
  }
  const auto pooled = [&](Pooling kind) {
    Pass pass = Pass::infer(*backend, DType::f64);
    return values_of(pool(pass, make_var(*backend, values.view()), sequences(), kind).value());
  };
  EXPECT_EQ(pooled(Pooling::first), (std::vector<double>{1, 9, -5, 7, 2, 2}));
  EXPECT_EQ(pooled(Pooling::mean), (std::vector<double>{2, 4, -5, 7, 2.5, -3}));
  EXPECT_EQ(pooled(Pooling::last), (std::vector<double>{1, 1, -5, 7, 3, -8}));
  EXPECT_THAT(pooled(Pooling::mean_sqrt_length),
              testing::Pointwise(testing::DoubleEq(), {6 / std::sqrt(3.0), 12 / std::sqrt(3.0), -5.0, 7.0,
                                                       5 / std::sqrt(2.0), -6 / std::sqrt(2.0)}));
  EXPECT_EQ(pooled(Pooling::max), (std::vector<double>{4, 9, -5, 7, 3, 2}));
}

TEST(Pool, GradientsAgreeWithDifferences) {
  for (const Pooling kind : {Pooling::first, Pooling::mean, Pooling::max, Pooling::last, Pooling::mean_sqrt_length}) {
    const Differentiable function{
        .inputs = inputs(random_tensor({6, 4}, 1)),
        .parameters = {},
        .run = [&](Pass& pass, const std::vector<Var>& x) { return Outcome{{pool(pass, x[0], sequences(), kind)}}; }};
    EXPECT_TRUE(gradients_are_right(function)) << static_cast<int>(kind);
  }
}

TEST(Pool, AMatrixWithASecondReaderGetsBothGradients) {
  TestParameter weight("weight", {3, 4}, 2);
  for (const Pooling kind : {Pooling::mean, Pooling::max}) {
    const Differentiable function{.inputs = inputs(random_tensor({6, 4}, 1)),
                                  .parameters = {&weight},
                                  .run = [&](Pass& pass, const std::vector<Var>& x) {
                                    Outcome outcome;
                                    outcome.outputs.push_back(pool(pass, x[0], sequences(), kind));
                                    outcome.outputs.push_back(linear(pass, x[0], {weight, nullptr}));
                                    return outcome;
                                  }};
    EXPECT_TRUE(gradients_are_right(function)) << static_cast<int>(kind);
  }
}

TEST(Pool, ErrorsNameTheMatrixAndTheSequence) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var x = make_var(*backend, random_tensor({5, 4}, 1).view());
  expect_error<ShapeError>([&] { pool(pass, x, sequences(), Pooling::mean); }, {"pool: ", "f64[5, 4]", "6 rows"});
  const Segments empty(std::vector<int64_t>{5, 0});
  expect_error<ShapeError>([&] { pool(pass, x, empty, Pooling::first); }, {"pool: ", "sequence 1 has no row"});
}

}  // namespace
}  // namespace heed::test
