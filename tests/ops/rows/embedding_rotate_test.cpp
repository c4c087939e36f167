#include <array>

#include "ops/op_testing.h"

namespace heed::test {
namespace {

const std::vector<int32_t> kIds{3, 0, 3, 2, 3};
const std::vector<int32_t> kPlaces{0, 1, 2, 0, 1};

TEST(Embedding, GradientOfTheTableAgreesWithDifferencesWhereTokensRepeat) {
  for (const float dropout : {0.0F, 0.4F}) {
    TestParameter table("table", {5, 4}, 1);
    const Differentiable function{
        .inputs = {}, .parameters = {&table}, .run = [&](Pass& pass, const std::vector<Var>&) {
          return Outcome{
              {embedding(pass, Tokens(kIds), kPlaces, 7, *table, {}, {1.75, dropout_at("embedding", dropout)})}};
        }};
    EXPECT_TRUE(gradients_are_right(function)) << "dropout " << dropout;
  }
}

TEST(Embedding, GradientOfLearnedPositionsAgreesWithDifferences) {
  TestParameter table("table", {5, 4}, 1), positions("positions", {6, 4}, 2);
  const Differentiable function{
      .inputs = {}, .parameters = {&table, &positions}, .run = [&](Pass& pass, const std::vector<Var>&) {
        return Outcome{{embedding(pass, Tokens(kIds), kPlaces, 0, *table, {View(), positions.get()},
                                  {1.75, dropout_at("embedding", 0.3F)})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Embedding, FixedPositionsAreAddedUnscaledAndGetNoGradient) {
  TestParameter table("table", {5, 4}, 1);
  const Tensor fixed = random_tensor({6, 4}, 3);
  const Differentiable function{
      .inputs = {}, .parameters = {&table}, .run = [&](Pass& pass, const std::vector<Var>&) {
        return Outcome{{embedding(pass, Tokens(kIds), kPlaces, 0, *table, {fixed.view(), nullptr}, {1.75, {}})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));

  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var y = embedding(pass, Tokens(kIds), kPlaces, 0, *table, {fixed.view(), nullptr}, {1.75, {}});
  for (int64_t r = 0; r < y.rows(); ++r) {
    for (int64_t c = 0; c < y.columns(); ++c) {
      const double expected = 1.75 * get(table.master(), kIds[static_cast<size_t>(r)], c) +
                              get(fixed.view(), kPlaces[static_cast<size_t>(r)], c);
      EXPECT_DOUBLE_EQ(get(y.value(), r, c), expected);
    }
  }
}

TEST(Embedding, ATableThatIsAlsoTheOutputProjectionAddsUpItsGradients) {
  for (const bool with_bias : {false, true}) {
    TestParameter table("table", {5, 4}, 1), bias("bias", {5}, 2);
    Differentiable function{.inputs = {},
                            .parameters = {&table},
                            .run =
                                [&](Pass& pass, const std::vector<Var>&) {
                                  const Var x = embedding(pass, Tokens(kIds), kPlaces, 0, *table, {}, {2.0, {}});
                                  const TokenLosses losses =
                                      output_loss(pass, Hidden(x), {table, with_bias ? bias.get() : nullptr},
                                                  Targets({1, 2, -1, 4, 0}), Smoothing{0.1F});
                                  return Outcome{{}, losses.total_smoothed()};
                                },
                            .scale = 0.25};
    if (with_bias) {
      function.parameters.push_back(&bias);
    }
    EXPECT_TRUE(gradients_are_right(function)) << with_bias;
  }
}

TEST(Embedding, ErrorsNameTheTokenItsRowAndTheTable) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const TestParameter table("source.tokens", {5, 4}, 1), positions("positions", {2, 4}, 2), narrow("narrow", {9, 3}, 3);
  const auto run = [&](std::vector<int32_t> ids, const std::vector<int32_t>& row_positions,
                       const PositionTable& where) {
    embedding(pass, Tokens(std::move(ids)), row_positions, 0, *table, where, {});
  };
  const PositionTable none, learned{View(), positions.get()}, too_narrow{View(), narrow.get()};
  expect_error<ShapeError>(
      [&] {
        run({1, 5}, {0, 1}, none);
      },
      {"embedding: ", "token 5 in row 1", "source.tokens", "5 rows"});
  expect_error<ShapeError>([&] { run({-1, 2}, {0, 1}, none); }, {"embedding: ", "token -1 in row 0"});
  expect_error<ShapeError>(
      [&] {
        run({1, 2, 3}, {0, 1, 2}, learned);
      },
      {"embedding: ", "position 2 in row 2", "2 rows"});
  expect_error<ShapeError>([&] { run({1, 2}, {0, -1}, learned); }, {"embedding: ", "position -1 in row 1"});
  expect_error<ShapeError>([&] { run({1, 2}, {0}, none); }, {"embedding: ", "2 tokens at 1 positions"});
  expect_error<ShapeError>(
      [&] {
        run({1, 2}, {0, 1}, too_narrow);
      },
      {"embedding: ", "f64[9, 3]", "source.tokens", "[5, 4]"});
}

// ---- rotate ----

// After a linear layer: nothing else may read what is rotated in place.
TEST(Rotate, GradientAgreesWithDifferencesWhenSomeColumnsAreRotated) {
  TestParameter weight("weight", {10, 3}, 2);
  const std::vector<int32_t> positions{0, 1, 5, 900};
  for (const int64_t dims : {int64_t{4}, int64_t{2}}) {
    const Differentiable function{.inputs = inputs(random_tensor({4, 3}, 1)),
                                  .parameters = {&weight},
                                  .run = [&](Pass& pass, const std::vector<Var>& x) {
                                    const Var y = linear(pass, x[0], {weight, nullptr});
                                    rotate(pass, {y, 1, 8}, positions, Heads(2), {dims, 100.0});
                                    return Outcome{{y}};
                                  }};
    EXPECT_TRUE(gradients_are_right(function)) << dims;
  }
}

TEST(Rotate, RotatesNothingAtPositionZeroAndPreservesLengths) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Tensor values = random_tensor({2, 4}, 1);
  const Var x = make_var(*backend, values.view());
  const std::array<int32_t, 2> positions{0, 3};
  rotate(pass, Columns::all(x), positions, Heads(1), {4, 10000.0});
  for (int64_t c = 0; c < 4; ++c) {
    EXPECT_DOUBLE_EQ(get(x.value(), 0, c), get(values.view(), 0, c));
  }
  for (const int64_t c : {int64_t{0}, int64_t{1}}) {
    EXPECT_NEAR(std::hypot(get(x.value(), 1, c), get(x.value(), 1, c + 2)),
                std::hypot(get(values.view(), 1, c), get(values.view(), 1, c + 2)), 1e-12);
    EXPECT_NE(get(x.value(), 1, c), get(values.view(), 1, c));
  }
}

TEST(Rotate, ErrorsShowPositionsColumnsAndHeads) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var x = make_var(*backend, random_tensor({2, 8}, 1).view());
  const std::array<int32_t, 2> two{0, 1};
  const std::array<int32_t, 3> three{0, 1, 2};
  expect_error<ShapeError>(
      [&] {
        rotate(pass, Columns::all(x), three, Heads(2), {4, 1e4});
      },
      {"rotate: ", "3 positions", "f64[2, 8]"});
  expect_error<ShapeError>(
      [&] {
        rotate(pass, Columns::all(x), two, Heads(2), {3, 1e4});
      },
      {"rotate: ", "3 rotated columns", "2 heads", "f64[2, 8]"});
  expect_error<ShapeError>(
      [&] {
        rotate(pass, Columns::all(x), two, Heads(2), {6, 1e4});
      },
      {"rotate: ", "6 rotated columns"});
  expect_error<ShapeError>([&] { rotate(pass, Columns::all(x), two, Heads(3), {2, 1e4}); }, {"rotate: ", "3 heads"});
}

}  // namespace
}  // namespace heed::test
