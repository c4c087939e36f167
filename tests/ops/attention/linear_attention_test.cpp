#include "ops/attention/linear_attention.h"

#include "ops/op_testing.h"

namespace heed::test {
namespace {

constexpr auto kBothReaches = {Visibility::Reach::full, Visibility::Reach::causal};

// Queries, keys and values as neighbouring columns of x.
AttentionInputs columns_of(const Var& x, const Segments& segments, int64_t queries, int64_t keys, int64_t values) {
  return {.queries = {x, 0, queries},
          .query_segments = &segments,
          .keys = {x, queries, keys},
          .values = {x, queries + keys, values},
          .key_segments = &segments};
}

Segments ragged(std::vector<int64_t> lengths) { return Segments(lengths); }

TEST(LinearAttention, GradientAgreesWithDifferences) {
  const Segments segments = ragged({3, 0, 4, 1});
  for (const auto reach : kBothReaches) {
    const Differentiable function{
        .inputs = inputs(random_tensor({8, 14}, 1)),
        .parameters = {},
        .run = [&](Pass& pass, const std::vector<Var>& x) {
          return Outcome{{linear_attention(pass, columns_of(x[0], segments, 4, 4, 6),
                                           {.heads = 2, .key_value_heads = 2, .reach = reach})}};
        }};
    EXPECT_TRUE(gradients_are_right(function));
  }
}

TEST(LinearAttention, GradientOfFeaturesOfExpAgreesWithDifferences) {
  const Segments segments = ragged({3, 4});
  for (const auto reach : kBothReaches) {
    const Differentiable function{
        .inputs = inputs(random_tensor({7, 24}, 1)),
        .parameters = {},
        .run = [&](Pass& pass, const std::vector<Var>& x) {
          return Outcome{
              {linear_attention(pass, columns_of(x[0], segments, 8, 8, 8),
                                {.heads = 2, .key_value_heads = 2, .reach = reach, .feature = LinearFeature::exp})}};
        }};
    EXPECT_TRUE(gradients_are_right(function));
  }
}

TEST(LinearAttention, GradientOfGroupedHeadsAgreesWithDifferences) {
  const Segments segments = ragged({3, 2});
  for (const auto reach : kBothReaches) {
    const Differentiable function{
        .inputs = inputs(random_tensor({5, 12}, 1)),
        .parameters = {},
        .run = [&](Pass& pass, const std::vector<Var>& x) {
          return Outcome{{linear_attention(pass, columns_of(x[0], segments, 8, 2, 2),
                                           {.heads = 4, .key_value_heads = 1, .reach = reach})}};
        }};
    EXPECT_TRUE(gradients_are_right(function));
  }
}

// One Var in two roles: its gradient is the sum of both.
TEST(LinearAttention, GradientOfOneVarInTwoRolesAgreesWithDifferences) {
  const Segments segments = ragged({4});
  const Differentiable function{
      .inputs = inputs(random_tensor({4, 4}, 1), random_tensor({4, 4}, 2)),
      .parameters = {},
      .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{
            {linear_attention(pass, {Columns::all(x[0]), &segments, Columns::all(x[1]), Columns::all(x[1]), &segments},
                              {.heads = 2, .key_value_heads = 2, .reach = Visibility::Reach::causal})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(LinearAttention, RefusesWhatDoesNotFit) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Var x = make_var(*backend, random_tensor({5, 12}, 1).view());
  const Segments segments = ragged({3, 2}), other = ragged({2, 3}), fewer = ragged({3, 1});
  const auto run = [&](const AttentionInputs& inputs, int64_t heads, int64_t key_value_heads) {
    linear_attention(pass, inputs, {.heads = heads, .key_value_heads = key_value_heads});
  };
  const auto fused = [&](const Segments& all) { return columns_of(x, all, 4, 4, 4); };
  expect_error<ShapeError>([&] { run(fused(segments), 3, 3); }, {"3 heads do not divide"});
  expect_error<ShapeError>([&] { run(fused(segments), 4, 3); }, {"3 key-value heads do not divide 4 heads"});
  expect_error<ShapeError>([&] { run(fused(segments), 4, 2); }, {"2 key-value heads against queries"});
  expect_error<ShapeError>([&] { run(fused(fewer), 2, 2); }, {"segments of 4 rows for queries"});
  AttentionInputs cross = fused(segments);
  cross.key_segments = &other;
  expect_error<ShapeError>([&] { run(cross, 2, 2); }, {"3 queries and 2 keys, but it is self-attention alone"});
}

}  // namespace
}  // namespace heed::test
