#include "ops/attention/ssru.h"

#include "ops/op_testing.h"

namespace heed::test {
namespace {

const Segments& ssru_sequences() {
  static const Segments segments(std::vector<int64_t>{3, 1, 4});
  return segments;
}

TEST(Ssru, GradientsAgreeWithDifferences) {
  TestParameter bias("bias", {3}, 12);
  for (const bool has_bias : {false, true}) {
    const Differentiable function{
        .inputs = inputs(random_tensor({8, 6}, 1)),
        .parameters = has_bias ? std::vector<TestParameter*>{&bias} : std::vector<TestParameter*>{},
        .run = [&](Pass& pass, const std::vector<Var>& x) {
          return Outcome{
              {has_bias ? ssru(pass, x[0], ssru_sequences(), bias) : ssru(pass, x[0], ssru_sequences(), nullptr)}};
        }};
    EXPECT_TRUE(gradients_are_right(function)) << has_bias;
  }
}

// Gates of 0 are halves: c = x / 2, then half of it and half of the next, and so on; each sequence begins anew.
TEST(Ssru, AveragesWhatCameBefore) {
  const auto backend = make_reference_backend();
  Tensor projected({8, 2}, DType::f64);
  const double x[] = {4, 2, -8, 6, 8, 0, 4, 16};
  for (int64_t r = 0; r < 8; ++r) {
    set(projected.view(), r, 1, x[r]);
  }
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var y = ssru(pass, make_var(*backend, projected.view()), ssru_sequences(), nullptr);
  EXPECT_EQ(values_of(y.value()), (std::vector<double>{2, 2, 0, 3, 4, 2, 3, 9.5}));
}

TEST(Ssru, ErrorsShowWhatDoesNotFit) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const TestParameter narrow("narrow", {2}, 3);
  const Var odd = make_var(*backend, random_tensor({8, 5}, 1).view());
  const Var few = make_var(*backend, random_tensor({7, 6}, 1).view());
  const Var right = make_var(*backend, random_tensor({8, 6}, 1).view());
  expect_error<ShapeError>([&] { ssru(pass, odd, ssru_sequences(), nullptr); }, {"ssru: ", "f64[8, 5]"});
  expect_error<ShapeError>([&] { ssru(pass, few, ssru_sequences(), nullptr); }, {"ssru: ", "8 rows", "f64[7, 6]"});
  expect_error<ShapeError>([&] { ssru(pass, right, ssru_sequences(), narrow); }, {"ssru: ", "3 gates", "narrow"});
}

}  // namespace
}  // namespace heed::test
