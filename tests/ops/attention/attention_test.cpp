#include <array>

#include "ops/op_testing.h"

namespace heed::test {
namespace {

Segments segments_of(std::vector<int64_t> lengths) { return Segments(lengths); }

// Queries, keys and values as neighbouring columns of x.
AttentionInputs fused(const Var& x, const Segments& segments, int64_t query_columns, int64_t key_columns) {
  return {.queries = {x, 0, query_columns},
          .query_segments = &segments,
          .keys = {x, query_columns, key_columns},
          .values = {x, query_columns + key_columns, key_columns},
          .key_segments = &segments};
}

AttentionInputs apart(const std::vector<Var>& x, const Segments& queries, const Segments& keys) {
  return {Columns::all(x[0]), &queries, Columns::all(x[1]), Columns::all(x[2]), &keys};
}

TEST(Attention, GradientOfOneFusedVarAgreesWithDifferences) {
  const Segments segments = segments_of({3, 0, 4, 1});
  for (const Visibility visibility :
       {Visibility::full(), Visibility::causal(), Visibility::local(Visibility::Reach::causal, 2),
        Visibility::local(Visibility::Reach::full, 2), Visibility::strided(Visibility::Reach::causal, 2),
        Visibility::strided(Visibility::Reach::full, 3)}) {
    const Differentiable function{
        .inputs = inputs(random_tensor({8, 12}, 1)),
        .parameters = {},
        .run = [&](Pass& pass, const std::vector<Var>& x) {
          return Outcome{{attention(pass, fused(x[0], segments, 4, 4),
                                    {.heads = 2, .key_value_heads = 2, .visibility = visibility})}};
        }};
    EXPECT_TRUE(gradients_are_right(function)) << "window " << visibility.window << ", stride " << visibility.stride;
  }
}

TEST(Attention, GradientOfQueriesAndAnotherSequencesKeysAgreesWithDifferences) {
  const Segments queries = segments_of({2, 3}), keys = segments_of({4, 1});
  const Differentiable function{
      .inputs = inputs(random_tensor({5, 4}, 1), random_tensor({5, 4}, 2), random_tensor({5, 4}, 3)),
      .parameters = {},
      .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{{attention(pass, apart(x, queries, keys), {.heads = 2, .key_value_heads = 2})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Attention, GradientOfKeysAndValuesFromOneVarAgreesWithDifferences) {
  const Segments queries = segments_of({2, 3}), keys = segments_of({4, 1});
  const Differentiable function{
      .inputs = inputs(random_tensor({5, 4}, 1), random_tensor({5, 8}, 2)),
      .parameters = {},
      .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{{attention(pass, {{x[0], 0, 4}, &queries, {x[1], 0, 4}, {x[1], 4, 4}, &keys},
                                  {.heads = 2, .key_value_heads = 2})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Attention, GradientOfGroupedHeadsAgreesWithDifferences) {
  const Segments segments = segments_of({3, 2});
  for (const int64_t key_heads : {int64_t{1}, int64_t{2}}) {
    const Differentiable function{
        .inputs = inputs(random_tensor({5, 8 + 4 * key_heads}, 1)),
        .parameters = {},
        .run = [&](Pass& pass, const std::vector<Var>& x) {
          return Outcome{{attention(pass, fused(x[0], segments, 8, 2 * key_heads),
                                    {.heads = 4, .key_value_heads = key_heads, .visibility = Visibility::causal()})}};
        }};
    EXPECT_TRUE(gradients_are_right(function)) << key_heads;
  }
}

TEST(Attention, GradientOfCappedScoresAndValuesOfAnotherWidthAgreesWithDifferences) {
  const Segments segments = segments_of({3, 2});
  for (const double cap : {0.0, 0.6}) {
    for (const VisibilityByHead& visibility :
         {VisibilityByHead(Visibility::causal()), VisibilityByHead({Visibility::causal(), Visibility::full()})}) {
      const Differentiable function{
          .inputs = inputs(random_tensor({5, 8 + 4 + 6}, 1)),
          .parameters = {},
          .run = [&](Pass& pass, const std::vector<Var>& x) {
            AttentionInputs operands = fused(x[0], segments, 8, 4);
            operands.values = {x[0], 12, 6};
            const Var y =
                attention(pass, operands, {.heads = 4, .key_value_heads = 2, .visibility = visibility, .cap = {cap}});
            EXPECT_EQ(y.columns(), 12);
            return Outcome{{y}};
          }};
      EXPECT_TRUE(gradients_are_right(function)) << cap << ", " << visibility.count();
    }
  }
}

TEST(Attention, GradientUnderDropoutAgreesWithDifferences) {
  const Segments segments = segments_of({3, 4});
  const Differentiable function{.inputs = inputs(random_tensor({7, 12}, 1)),
                                .parameters = {},
                                .run =
                                    [&](Pass& pass, const std::vector<Var>& x) {
                                      return Outcome{{attention(pass, fused(x[0], segments, 4, 4),
                                                                {.heads = 2,
                                                                 .key_value_heads = 2,
                                                                 .visibility = Visibility::causal(),
                                                                 .dropout = dropout_at("weights", 0.3F)})}};
                                    },
                                .first_row = 11};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Attention, GradientOfSpreadBucketsAgreesWithDifferences) {
  const Segments segments = segments_of({3, 0, 4});
  TestParameter table("table", {3, 2}, 7);
  const std::vector<int32_t> buckets{2, 0, 0, 1, 2};
  // Two readers: one starts the gradient of the table, the other adds to it.
  const Differentiable function{
      .inputs = inputs(random_tensor({7, 12}, 1)),
      .parameters = {&table},
      .run = [&](Pass& pass, const std::vector<Var>& x) {
        Outcome outcome;
        const Var scores = spread_buckets(pass, *table, buckets);
        for (const double factor : {1.0, 0.5}) {
          outcome.outputs.push_back(attention(
              pass, fused(x[0], segments, 4, 4),
              {.heads = 2,
               .key_value_heads = 2,
               .relative = {
                   .table = scores, .first = -2, .factor = factor, .gradient = RelativeScores::Gradient::wanted}}));
        }
        return outcome;
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Attention, GradientOfScoresOfEachQueryAgreesWithDifferences) {
  const Segments segments = segments_of({3, 4});
  const Differentiable function{
      .inputs = inputs(random_tensor({7, 12}, 1), random_tensor({7, 6}, 2)),
      .parameters = {},
      .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{{attention(pass, fused(x[0], segments, 4, 4),
                                  {.heads = 2,
                                   .key_value_heads = 2,
                                   .visibility = Visibility::causal(),
                                   .relative = {.table = x[1],
                                                .of = TableOf::query,
                                                .first = -2,
                                                .factor = 0.7,
                                                .gradient = RelativeScores::Gradient::wanted}})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Attention, GradientOfRelativeKeysAgreesWithDifferences) {
  const Segments segments = segments_of({3, 4});
  TestParameter embeddings("embeddings", {3, 2}, 7);
  const Differentiable function{
      .inputs = inputs(random_tensor({7, 12}, 1)),
      .parameters = {&embeddings},
      .run = [&](Pass& pass, const std::vector<Var>& x) {
        const AttentionInputs operands = fused(x[0], segments, 4, 4);
        return Outcome{{attention(pass, operands,
                                  {.heads = 2,
                                   .key_value_heads = 2,
                                   .relative = {.table = relative_keys(pass, operands.queries, *embeddings, Heads(2)),
                                                .of = TableOf::query,
                                                .first = -1,
                                                .factor = 0.7,
                                                .gradient = RelativeScores::Gradient::wanted}})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Attention, GradientOfRelativeValuesAgreesWithDifferences) {
  const Segments segments = segments_of({3, 4});
  TestParameter keys("keys", {4, 2}, 7), values("values", {3, 4}, 8);
  // Two readers: one starts the gradients, the other adds to them. Under dropout, and with values of another width.
  const Differentiable function{
      .inputs = inputs(random_tensor({7, 14}, 1)),
      .parameters = {&keys, &values},
      .run =
          [&](Pass& pass, const std::vector<Var>& x) {
            AttentionInputs operands = fused(x[0], segments, 4, 4);
            operands.values = {x[0], 8, 6};
            Outcome outcome;
            for (const Visibility& visibility : {Visibility::full(), Visibility::causal()}) {
              outcome.outputs.push_back(
                  attention(pass, operands,
                            {.heads = 2,
                             .key_value_heads = 2,
                             .visibility = visibility,
                             .dropout = dropout_at("weights", 0.3F),
                             .relative = {.table = relative_keys(pass, operands.queries, *keys, Heads(2)),
                                          .of = TableOf::query,
                                          .first = -2,
                                          .factor = 0.7,
                                          .gradient = RelativeScores::Gradient::wanted},
                             .relative_values = values}));
            }
            return outcome;
          },
      .first_row = 11};
  EXPECT_TRUE(gradients_are_right(function));
}

// A single query that sees three keys with equal weights: the embeddings of its three distances, a third of each.
TEST(Attention, RelativeValuesAreAddedByDistance) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments queries = segments_of({1}), keys = segments_of({4});
  const Var x = make_var(*backend, random_tensor({4, 2}, 1).view());
  const Var zeros = make_var(*backend, Tensor({1, 2}, DType::f64).view()),
            table = make_var(*backend, Tensor({1, 2}, DType::f64).view());
  backend->fill(zeros.value(), 0.0);
  backend->fill(table.value(), 0.0);
  TestParameter values("values", {2, 2}, 8);
  const AttentionInputs inputs{Columns::all(zeros), &queries, Columns::all(x), Columns::all(x), &keys};
  const auto attend = [&](const Weight* relative_values) {
    return values_of(
        attention(pass, inputs,
                  {.relative = {.table = table, .of = TableOf::query, .first = -1}, .relative_values = relative_values})
            .value());
  };
  // The keys are 3, 2, 1 and 0 before the query; those further away than 1 count as 1.
  const std::vector<double> without = attend(nullptr), with = attend(values);
  const HostView<double> embeddings = host<double>(values.master());
  for (int64_t c = 0; c < 2; ++c) {
    EXPECT_NEAR(with[static_cast<size_t>(c)] - without[static_cast<size_t>(c)],
                0.75 * embeddings(c, 0) + 0.25 * embeddings(c, 1), 1e-15);
  }
}

TEST(Attention, ErrorsAboutScoresByDistanceShowBothSides) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments segments = segments_of({3, 2});
  const Var x = make_var(*backend, random_tensor({5, 12}, 1).view());
  const Var table = make_var(*backend, random_tensor({3, 4}, 2).view());
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    expect_error<ShapeError>(
        [&] {
          attention(pass, fused(x, segments, 4, 4),
                    {.heads = 2, .key_value_heads = 2, .relative = {.table = table, .of = of}});
        },
        {"attention: ", "the scores are f64[3, 4]", "2 heads", "5 queries"});
  }
  TestParameter buckets("buckets", {3, 2}, 7);
  expect_error<ShapeError>(
      [&] {
        spread_buckets(pass, *buckets, std::vector<int32_t>{0, 3});
      },
      {"spread_buckets: ", "bucket 3", "buckets [3, 2]"});
  expect_error<ShapeError>(
      [&] {
        relative_keys(pass, {x, 0, 4}, *buckets, Heads(3));
      },
      {"relative_keys: ", "3 heads", "f64[5, 4]", "buckets [3, 2]"});
  const Var of_queries = make_var(*backend, random_tensor({5, 6}, 2).view());
  const auto attend = [&](const RelativeScores& scores) {
    attention(pass, fused(x, segments, 4, 4),
              {.heads = 2, .key_value_heads = 2, .relative = scores, .relative_values = buckets});
  };
  expect_error<ShapeError>([&] { attend({}); },
                           {"attention: ", "relative values buckets", "need relative scores for each query"});
  expect_error<ShapeError>([&] { attend({.table = of_queries, .of = TableOf::query}); },
                           {"attention: ", "relative values buckets are [3, 2]", "2 columns", "3 distances"});
}

// One head each, with the weights that it shows.
TEST(Attention, PartsOfTheHeadsEqualSeparateAttention) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments segments = segments_of({4, 3});
  const Var x = make_var(*backend, random_tensor({7, 12}, 1).view());
  const auto reach = Visibility::Reach::causal;
  const std::vector<Visibility> parts{Visibility::local(reach, 2), Visibility::strided(reach, 2)};
  Tensor weights;
  const Var both =
      attention(pass, fused(x, segments, 4, 4),
                {.heads = 2, .key_value_heads = 2, .visibility = VisibilityByHead(parts), .weights = &weights});
  for (int64_t head = 0; head < 2; ++head) {
    Tensor own;
    const AttentionInputs inputs{{x, 2 * head, 2}, &segments, {x, 4 + 2 * head, 2}, {x, 8 + 2 * head, 2}, &segments};
    const Var alone = attention(pass, inputs, {.visibility = parts[static_cast<size_t>(head)], .weights = &own});
    EXPECT_EQ(values_of(both.value().column_range(2 * head, 2)), values_of(alone.value()));
    // By sequence, then by head.
    EXPECT_EQ(values_of(weights.view().column_range(16 * head, 16)), values_of(own.view().column_range(0, 16)));
    EXPECT_EQ(values_of(weights.view().column_range(32 + 9 * head, 9)), values_of(own.view().column_range(16, 9)));
  }
}

TEST(Attention, GradientOfPartsOfTheHeadsAgreesWithDifferences) {
  const Segments segments = segments_of({4, 3});
  const auto reach = Visibility::Reach::causal;
  const VisibilityByHead visibility({Visibility::local(reach, 2), Visibility::strided(reach, 2)});
  const Differentiable function{
      .inputs = inputs(random_tensor({7, 16}, 1)),
      .parameters = {},
      .run =
          [&](Pass& pass, const std::vector<Var>& x) {
            return Outcome{{attention(
                pass, fused(x[0], segments, 8, 4),
                {.heads = 4, .key_value_heads = 2, .visibility = visibility, .dropout = dropout_at("weights", 0.3F)})}};
          },
      .first_row = 11};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Attention, RefusesAMaskThatItsPatternContradicts) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments segments = segments_of({3, 4});
  const Var x = make_var(*backend, random_tensor({7, 12}, 1).view());
  AttentionMask mask(segments, segments);
  mask.show(1, 3, 0);
  const auto run = [&](const Visibility& visibility) {
    attention(pass, fused(x, segments, 4, 4),
              {.heads = 2, .key_value_heads = 2, .visibility = visibility, .mask = &mask});
  };
  const auto reach = Visibility::Reach::causal;
  run(Visibility::causal());
  run(Visibility::local(reach, 4));
  run(Visibility::strided(reach, 3));
  expect_error<ShapeError>([&] { run(Visibility::local(reach, 3)); }, {"sequence 1", "the mask shows", "window of 3"});
  expect_error<ShapeError>([&] { run(Visibility::strided(reach, 2)); },
                           {"sequence 1", "the mask shows", "strides of 2"});
}

TEST(Attention, RefusesPartsThatDoNotDivideTheHeads) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments segments = segments_of({5});
  const Var x = make_var(*backend, random_tensor({5, 12}, 1).view());
  const VisibilityByHead two({Visibility::full(), Visibility::causal()});
  expect_error<ShapeError>([&] { attention(pass, fused(x, segments, 4, 4), {.visibility = two}); },
                           {"2 patterns do not divide 1 key-value heads"});
}

TEST(Attention, ARowThatSeesNothingGivesZerosAndNoGradient) {
  const Segments segments = segments_of({3, 2});
  AttentionMask mask = causal_mask(segments);
  for (int64_t key = 0; key < 3; ++key) {
    mask.hide(0, 1, key);
  }
  mask.hide(0, 2, 0);
  const Differentiable function{
      .inputs = inputs(random_tensor({5, 12}, 1)), .parameters = {}, .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{
            {attention(pass, fused(x[0], segments, 4, 4), {.heads = 2, .key_value_heads = 2, .mask = &mask})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));

  Differences differences(function);
  const std::vector<double> gradient = differences.gradients()[0];
  Pass pass = Pass::infer(differences.backend(), DType::f64);
  const Var y = function.run(pass, {make_var(differences.backend(), function.inputs[0].view())}).outputs[0];
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(get(y.value(), 1, static_cast<int64_t>(c)), 0.0);
    EXPECT_EQ(gradient[12 + c], 0.0) << "of the query in row 1";
  }
}

// Once as the first and once as the second of two readers: one starts the gradient, the other adds to it.
TEST(Attention, AVarWithASecondReaderGetsBothGradients) {
  const Segments segments = segments_of({3, 2});
  TestParameter weight("weight", {3, 12}, 4);
  for (const bool attention_first : {false, true}) {
    const Differentiable function{
        .inputs = inputs(random_tensor({5, 12}, 1)),
        .parameters = {&weight},
        .run = [&](Pass& pass, const std::vector<Var>& x) {
          Outcome outcome;
          const auto attend = [&] {
            outcome.outputs.push_back(attention(pass, fused(x[0], segments, 4, 4), {.heads = 2, .key_value_heads = 2}));
          };
          if (attention_first) {
            attend();
          }
          outcome.outputs.push_back(linear(pass, x[0], {weight, nullptr}));
          if (!attention_first) {
            attend();
          }
          return outcome;
        }};
    EXPECT_TRUE(gradients_are_right(function)) << attention_first;
  }
}

TEST(Attention, ColumnsThatAttentionDoesNotReadGetZeroGradient) {
  const Segments segments = segments_of({3, 2});
  const Differentiable function{
      .inputs = inputs(random_tensor({5, 14}, 1)), .parameters = {}, .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{{attention(pass, fused(x[0], segments, 4, 4), {.heads = 2, .key_value_heads = 2})}};
      }};
  EXPECT_TRUE(gradients_are_right(function));
}

// The same columns as queries, keys and values, or as keys and values: all their gradients add up.
TEST(Attention, ColumnsInTwoRolesGetBothGradients) {
  const Segments segments = segments_of({3, 2});
  const Differentiable all_three{
      .inputs = inputs(random_tensor({5, 4}, 1)), .parameters = {}, .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{
            {attention(pass, apart({x[0], x[0], x[0]}, segments, segments), {.heads = 2, .key_value_heads = 2})}};
      }};
  EXPECT_TRUE(gradients_are_right(all_three));
  const Differentiable keys_as_values{.inputs = inputs(random_tensor({5, 4}, 1), random_tensor({5, 4}, 2)),
                                      .parameters = {},
                                      .run = [&](Pass& pass, const std::vector<Var>& x) {
                                        return Outcome{{attention(pass, apart({x[0], x[1], x[1]}, segments, segments),
                                                                  {.heads = 2, .key_value_heads = 2})}};
                                      }};
  EXPECT_TRUE(gradients_are_right(keys_as_values));
  const Differentiable overlapping{
      .inputs = inputs(random_tensor({5, 9}, 1)), .parameters = {}, .run = [&](Pass& pass, const std::vector<Var>& x) {
        return Outcome{{attention(pass, {{x[0], 0, 4}, &segments, {x[0], 2, 4}, {x[0], 3, 4}, &segments},
                                  {.heads = 2, .key_value_heads = 2})}};
      }};
  EXPECT_TRUE(gradients_are_right(overlapping));
}

TEST(Attention, RequestedWeightsAreThoseOfTheFormula) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments segments = segments_of({2, 3});
  const Var x = make_var(*backend, random_tensor({5, 12}, 1).view());
  Tensor weights;
  const Var y = attention(pass, fused(x, segments, 4, 4),
                          {.heads = 2, .key_value_heads = 2, .visibility = Visibility::causal(), .weights = &weights});
  ASSERT_EQ(weights.elements(), 2 * (2 * 2 + 3 * 3));
  // Sequence 1, head 1, query 1, which sees two keys.
  std::array<double, 2> scores{};
  for (size_t key = 0; key < 2; ++key) {
    for (int64_t c = 2; c < 4; ++c) {
      scores[key] += get(x.value(), 3, c) * get(x.value(), 2 + static_cast<int64_t>(key), 4 + c) / std::sqrt(2.0);
    }
  }
  const double p0 = 1.0 / (1.0 + std::exp(scores[1] - scores[0]));
  const double* const row = weights.data<double>() + 2 * 4 + 9 + 3;
  EXPECT_NEAR(row[0], p0, 1e-14);
  EXPECT_NEAR(row[1], 1.0 - p0, 1e-14);
  EXPECT_EQ(row[2], 0.0);
  for (int64_t c = 2; c < 4; ++c) {
    EXPECT_NEAR(get(y.value(), 3, c), p0 * get(x.value(), 2, 8 + c) + (1.0 - p0) * get(x.value(), 3, 8 + c), 1e-14);
  }
}

TEST(Attention, ErrorsAboutHeadsAndColumnsShowBothSides) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments segments = segments_of({3, 2});
  const Var x = make_var(*backend, random_tensor({5, 12}, 1).view());
  const auto run = [&](const AttentionInputs& inputs, int64_t heads, int64_t key_heads) {
    attention(pass, inputs, {.heads = heads, .key_value_heads = key_heads});
  };
  const AttentionInputs right = fused(x, segments, 4, 4);
  expect_error<ShapeError>([&] { run(right, 3, 3); }, {"attention: ", "3 heads do not divide", "f64[5, 4]"});
  expect_error<ShapeError>([&] { run(right, 0, 1); }, {"attention: ", "0 heads"});
  expect_error<ShapeError>([&] { run(right, 4, 3); }, {"attention: ", "3 key-value heads do not divide 4 heads"});
  expect_error<ShapeError>([&] { run(right, 4, 0); }, {"attention: ", "0 key-value heads"});
  expect_error<ShapeError>([&] { run(right, 4, 2); },
                           {"attention: ", "2 key-value heads", "f64[5, 4]", "need 2 columns", "keys are f64[5, 4]"});
  AttentionInputs odd = right;
  odd.values = {x, 8, 3};
  expect_error<ShapeError>([&] { run(odd, 4, 4); },
                           {"attention: ", "4 key-value heads do not divide values", "f64[5, 3]"});
}

TEST(Attention, ErrorsAboutSegmentsShowBothSides) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments segments = segments_of({3, 2}), short_by_one = segments_of({2, 2}), one = segments_of({5});
  const Var x = make_var(*backend, random_tensor({5, 12}, 1).view());
  const auto run = [&](const Segments& queries, const Segments& keys) {
    AttentionInputs inputs = fused(x, queries, 4, 4);
    inputs.key_segments = &keys;
    attention(pass, inputs, {.heads = 2, .key_value_heads = 2});
  };
  expect_error<ShapeError>([&] { run(short_by_one, segments); },
                           {"attention: ", "segments of 4 rows", "queries f64[5, 4]"});
  expect_error<ShapeError>([&] { run(segments, short_by_one); },
                           {"attention: ", "segments of 4 rows", "keys f64[5, 4]"});
  expect_error<ShapeError>([&] { run(segments, one); }, {"attention: ", "2 sequences of queries, 1 of keys"});
}

TEST(Attention, ErrorsAboutMasksShowTheSequenceAndBothSizes) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments segments = segments_of({3, 2}), other = segments_of({3, 1}), one = segments_of({5});
  const Var x = make_var(*backend, random_tensor({5, 12}, 1).view());
  const auto run = [&](const AttentionMask& mask) {
    attention(pass, fused(x, segments, 4, 4), {.heads = 2, .key_value_heads = 2, .mask = &mask});
  };
  expect_error<ShapeError>([&] { run(causal_mask(one)); }, {"attention: ", "a mask of 1 sequences for 2"});
  expect_error<ShapeError>([&] { run(AttentionMask(segments, other)); },
                           {"attention: ", "sequence 1", "a mask of 2 x 1 for 2 queries and 2 keys"});
}

TEST(Attention, OverACacheInTrainingIsAnInternalError) {
  const auto backend = make_reference_backend();
  Tape tape;
  Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{1});
  const Segments segments = segments_of({3, 2});
  const Var x = make_var(*backend, random_tensor({5, 4}, 1).view());
  expect_error<InternalError>(
      [&] {
        attention(pass, Columns::all(x), segments, {x.value(), x.value(), &segments, {}}, {});
      },
      {"attention: ", "cache"});
}

TEST(Attention, OverACacheAgreesWithAttentionOverVars) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Segments segments = segments_of({3, 2});
  const Var x = make_var(*backend, random_tensor({5, 12}, 1).view());
  const AttentionOptions options{.heads = 2, .key_value_heads = 2, .visibility = Visibility::causal()};
  const AttentionInputs inputs = fused(x, segments, 4, 4);
  const Var direct = attention(pass, inputs, options);
  const Var cached =
      attention(pass, inputs.queries, segments, {inputs.keys.value(), inputs.values.value(), &segments, {}}, options);
  EXPECT_TRUE(same_bits(values_of(direct.value()), values_of(cached.value())));
}

}  // namespace
}  // namespace heed::test
