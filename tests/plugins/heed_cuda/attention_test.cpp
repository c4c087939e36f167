// Attention against the reference: the cases of the CPU's kernels, at fewer sizes.
#include "kernels/attention_case.h"

#include <limits>

#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

// As for the CPU's kernels: probabilities and their gradients may be rounded to bf16 before they are multiplied.
constexpr Tolerance kCudaBf16Forward{0.01, 0.01}, kCudaBf16Backward{0.02, 0.02, 1e-2};
constexpr Tolerance kCudaF32Backward{2e-5, 2e-5, 4e-6}, kCudaF32Sums{2e-5, 2e-5, 4e-5};

class CudaAttention : public CudaTest {
 protected:
  void expect_same(const AttentionCase& c) {
    const bool f32 = storage() == DType::f32;
    const auto actual = c.forward(cuda(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.output, expected.output, f32 ? kF32 : kCudaBf16Forward));
    EXPECT_TRUE(close(actual.log_sum_exp, expected.log_sum_exp, kF32));
    if (!actual.mass.empty()) {
      EXPECT_TRUE(close(actual.mass, expected.mass, kF32));
    }
    const Tolerance backward = f32 ? kCudaF32Backward : kCudaBf16Backward;
    const auto d = c.backward(cuda(), actual, types()), expected_d = c.backward(reference(), actual, kReferenceTypes);
    EXPECT_TRUE(close(d.d_queries, expected_d.d_queries, backward));
    EXPECT_TRUE(close(d.d_keys, expected_d.d_keys, backward));
    EXPECT_TRUE(close(d.d_values, expected_d.d_values, backward));
    if (!d.d_by_distance.empty()) {
      EXPECT_TRUE(close(d.d_by_distance, expected_d.d_by_distance, f32 ? kCudaF32Sums : backward));
    }
  }
  void expect_same_weights(const AttentionCase& c) {
    const Tolerance rounding = storage() == DType::f32 ? kF32 : kCudaBf16Forward;
    EXPECT_TRUE(close(c.weights(cuda(), types()), c.weights(reference(), kReferenceTypes), rounding));
  }
  AttentionCase make_case(const AttentionShape& shape) { return AttentionCase::make(types(), shape); }
  AttentionCase causal(const AttentionShape& shape) { return AttentionCase::causal(types(), shape); }
};
HEED_ON_CUDA(CudaAttention);

const AttentionShape kRaggedOnCuda{.queries = {5, 1, 17}, .keys = {9, 3, 33}, .head_width = 16};

TEST_P(CudaAttention, MatchesTheReferenceForAnyLength) {
  for (const int64_t length : {1, 33, 64, 65, 130}) {
    SCOPED_TRACE(length);
    expect_same(causal({.queries = {length, 2}, .keys = {length + 1, 20}, .heads = 1, .key_value_heads = 1}));
    expect_same(make_case({.queries = {3, 1}, .keys = {length, 3}}));
  }
}

TEST_P(CudaAttention, MatchesTheReferenceForAnyHeadWidth) {
  for (const int64_t width : {1, 15, 17, 33, 64, 80, 128, 256}) {
    SCOPED_TRACE(width);
    expect_same(causal({.queries = {17, 3}, .keys = {17, 3}, .head_width = width}));
    expect_same(make_case({.queries = {9, 3}, .keys = {7, 21}, .head_width = width}));
  }
}

TEST_P(CudaAttention, ValuesOfAnotherWidthMatchTheReference) {
  for (const auto& [width, value_width] : std::vector<std::pair<int64_t, int64_t>>{{16, 64}, {17, 32}, {160, 33}}) {
    SCOPED_TRACE(fmt::format("{} columns of keys, {} of values", width, value_width));
    AttentionCase c = make_case({.queries = {3, 12, 1},
                                 .keys = {7, 21, 70},
                                 .heads = 4,
                                 .key_value_heads = 2,
                                 .head_width = width,
                                 .value_width = value_width});
    c.settings.dropout = dropout_of(0.25F);
    expect_same(c);
  }
}

TEST_P(CudaAttention, CappedScoresMatchTheReference) {
  for (const double cap : {0.5, 50.0}) {
    AttentionCase c = causal({.queries = {19, 3, 40}, .keys = {19, 3, 40}});
    c.settings.score_cap = cap;
    c.settings.visibility = Visibility::local(Visibility::Reach::causal, 11);
    c.settings.dropout = dropout_of(0.25F);
    expect_same(c);
    AttentionCase few = make_case({.queries = {1, 3}, .keys = {130, 70}, .heads = 4, .key_value_heads = 2});
    few.settings.score_cap = cap;
    expect_same(few);
    expect_same_weights(few);
  }
}

TEST_P(CudaAttention, LongSequencesMatchTheReference) {
  const AttentionShape one_head{.heads = 1, .key_value_heads = 1, .head_width = 32};
  for (const auto& [queries, keys] : std::vector<std::pair<int64_t, int64_t>>{{3, 600}, {300, 9}}) {
    AttentionShape shape = one_head;
    shape.queries = {queries};
    shape.keys = {keys};
    expect_same(make_case(shape));
  }
}

// The weights that each query gives to each distance, within its table and beyond its ends.
TEST_P(CudaAttention, MassByDistanceMatchesTheReference) {
  for (const auto& [first, distances] : std::vector<std::pair<int64_t, int64_t>>{{-140, 281}, {-9, 10}, {-5, 1}}) {
    SCOPED_TRACE(fmt::format("{} distances from {}", distances, first));
    expect_same(make_case({.queries = {20, 5, 0, 1}, .keys = {20, 5, 3, 130}}).with_mass(types(), first, distances));
    AttentionCase dropped = causal({.queries = {5, 1, 34}, .keys = {9, 3, 36}, .heads = 4, .key_value_heads = 2})
                                .with_mass(types(), first, distances);
    dropped.settings.dropout = dropout_of(0.25F);
    const AttentionMask mask = random_mask(dropped.query_segments, dropped.key_segments);
    dropped.settings.mask = &mask;
    expect_same(dropped);
  }
}

// Tables that reach all distances, and tables whose ends count for the distances beyond.
TEST_P(CudaAttention, TermsByDistanceMatchTheReference) {
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    for (const auto& [first, distances] :
         std::vector<std::pair<int64_t, int64_t>>{{-140, 281}, {-140, 141}, {-9, 10}, {0, 1}}) {
      SCOPED_TRACE(fmt::format("of {}, {} distances from {}", static_cast<int>(of), distances, first));
      expect_same(
          make_case({.queries = {20, 5, 0, 1}, .keys = {20, 5, 3, 130}}).by_distance(types(), of, first, distances));
      AttentionCase dropped = causal({.queries = {5, 1, 34}, .keys = {9, 3, 36}, .heads = 4, .key_value_heads = 2})
                                  .by_distance(types(), of, first, distances);
      dropped.settings.dropout = dropout_of(0.25F);
      expect_same(dropped);
      const AttentionMask mask = random_mask(dropped.query_segments, dropped.key_segments);
      dropped.settings.mask = &mask;
      expect_same(dropped);
      EXPECT_TRUE(close(dropped.weights(cuda(), types()), dropped.weights(reference(), kReferenceTypes), kF32));
    }
  }
}

TEST_P(CudaAttention, BucketsAreSpreadOverDistances) {
  const Guarded table = random(types().master, 5, 3, 60), d_scores = random(types().master, 3, 40, 61, 1.0, {3, 2});
  std::vector<int64_t> numbers;
  for (int64_t d = 0; d < 40; ++d) {
    numbers.push_back(d * 3 % 5);
  }
  const Guarded buckets = integers(numbers);
  const auto run = [&](Backend& backend) {
    std::pair<Guarded, Guarded> found{Guarded(types().master, 3, 40), Guarded(types().master, 5, 3)};
    backend.fill(found.second.view(), 1.0);
    backend.spread_buckets({table.view(), buckets.view(), found.first.view()});
    backend.spread_buckets_backward({buckets.view(), d_scores.view(), found.second.view()});
    return found;
  };
  const auto found = run(cuda()), expected = run(reference());
  EXPECT_TRUE(same_bits(found.first, expected.first));
  EXPECT_TRUE(close(found.second, expected.second, kF32));
}

TEST_P(CudaAttention, GroupedHeadsMatchTheReference) {
  for (const int64_t key_value_heads : {1, 2, 3}) {
    expect_same(causal({.queries = {19, 4}, .keys = {19, 4}, .heads = 6, .key_value_heads = key_value_heads}));
  }
}

TEST_P(CudaAttention, WindowsAndStridesMatchTheReference) {
  for (const auto reach : {Visibility::Reach::full, Visibility::Reach::causal}) {
    for (const auto& [window, stride] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {33, 1}, {0, 200}, {40, 3}}) {
      SCOPED_TRACE(fmt::format("reach {}, window {}, stride {}", static_cast<int>(reach), window, stride));
      AttentionCase c = make_case({.queries = {70, 3, 9}, .keys = {70, 90, 6}, .heads = 1, .key_value_heads = 1});
      c.settings.visibility = {reach, window, stride};
      expect_same(c);
    }
  }
}

TEST_P(CudaAttention, StridesWithGroupedHeadsDropoutMasksAndWeightsMatchTheReference) {
  AttentionCase c = make_case({.queries = {40, 5, 3}, .keys = {40, 5, 90}, .heads = 4, .key_value_heads = 2});
  c.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  c.settings.dropout = dropout_of(0.25F);
  const AttentionMask mask = random_mask(c.query_segments, c.key_segments, 0.4);
  c.settings.mask = &mask;
  expect_same(c);
  EXPECT_TRUE(close(c.weights(cuda(), types()), c.weights(reference(), kReferenceTypes), kF32));
}

// Heads that are some of a whole model's have the draws that they have there.
TEST_P(CudaAttention, DropoutMatchesTheReference) {
  AttentionCase c = make_case(kRaggedOnCuda);
  c.settings.dropout = dropout_of(0.25F);
  expect_same(c);
  c.settings.heads_of_whole = 8;
  c.settings.first_drawn_head = 3;
  expect_same(c);
}

TEST_P(CudaAttention, MasksMatchTheReferenceAndRowsThatSeeNothingAreZero) {
  for (const double density : {0.5, 0.02, 0.0}) {
    AttentionCase c = causal({.queries = {5, 1, 30}, .keys = {9, 3, 130}});
    const AttentionMask mask = random_mask(c.query_segments, c.key_segments, density);
    c.settings.mask = &mask;
    expect_same(c);
    const auto result = c.forward(cuda(), types());
    const auto d = c.backward(cuda(), result, types());
    for (int64_t column = 0; column < c.queries.columns(); ++column) {
      EXPECT_EQ(result.output.get(1, column), 0.0);
      EXPECT_EQ(d.d_queries.get(1, column), 0.0);
    }
    EXPECT_EQ(result.log_sum_exp.get(1, 0), -std::numeric_limits<double>::infinity());
  }
}

TEST_P(CudaAttention, WithMoreQueriesThanKeysTheFirstQueriesSeeNothing) {
  const AttentionCase c = causal({.queries = {20, 3}, .keys = {6, 3}});
  expect_same(c);
  const auto result = c.forward(cuda(), types());
  for (int64_t query = 0; query < 14; ++query) {
    EXPECT_EQ(result.output.get(query, 0), 0.0);
  }
}

TEST_P(CudaAttention, EmptySequencesMatchTheReference) {
  expect_same(make_case({.queries = {3, 0, 4, 0}, .keys = {5, 2, 0, 0}}));
  expect_same(causal({.queries = {3, 0, 4}, .keys = {3, 0, 4}}));
}

TEST_P(CudaAttention, LargeScoresStayFinite) {
  AttentionCase c = causal(kRaggedOnCuda);
  c.settings.scale = 40.0;
  const auto actual = c.forward(cuda(), types()), expected = c.forward(reference(), kReferenceTypes);
  EXPECT_TRUE(
      close(actual.output, expected.output, storage() == DType::f32 ? Tolerance{1e-3, 1e-3} : kCudaBf16Forward));
}

TEST_P(CudaAttention, WhatIsNotANumberShows) {
  AttentionCase c = causal({.queries = {3}, .keys = {3}, .heads = 1, .key_value_heads = 1});
  c.keys.set(1, 0, std::nan(""));
  const Guarded output = c.forward(cuda(), types()).output;
  EXPECT_TRUE(std::isfinite(output.get(0, 0)));
  EXPECT_TRUE(std::isnan(output.get(1, 0)) && std::isnan(output.get(2, 0)));
}

TEST_P(CudaAttention, RequestedWeightsMatchTheReference) {
  AttentionCase c = causal(kRaggedOnCuda);
  c.settings.dropout = dropout_of(0.25F);  // the weights are those before it
  const AttentionMask mask = random_mask(c.query_segments, c.key_segments);
  c.settings.mask = &mask;
  expect_same_weights(c);
}

// Caches in another type than that of queries.
TEST_P(CudaAttention, CachesOfOtherTypesMatchTheReference) {
  const std::vector<DType> caches =
      storage() == DType::f32 ? std::vector{DType::bf16, DType::i8} : std::vector{DType::i8};
  AttentionCase grouped = make_case({.queries = {1, 9}, .keys = {70, 33}, .heads = 6, .key_value_heads = 2});
  const AttentionMask mask = random_mask(grouped.query_segments, grouped.key_segments);
  grouped.settings.mask = &mask;
  AttentionCase strided = causal({.queries = {1, 10}, .keys = {90, 50}});
  strided.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  strided.settings.score_cap = 3.0;
  std::vector<AttentionCase> cases{grouped, strided};
  for (const int64_t width : {1, 17, 64}) {
    cases.push_back(
        make_case({.queries = {1, 2, 0, 4}, .keys = {130, 7, 5, 64}, .head_width = width, .value_width = 24}));
  }
  for (const AttentionCase& c : cases) {
    for (const DType type : caches) {
      SCOPED_TRACE(name_of(type));
      const AttentionCase cached = c.cached_in(cuda(), type), expected = c.cached_in(reference(), type);
      EXPECT_TRUE(same_bits(cached.keys, expected.keys));
      EXPECT_TRUE(same_bits(cached.values, expected.values));
      EXPECT_TRUE(type != DType::i8 || same_bits(cached.key_scales, expected.key_scales));
      EXPECT_TRUE(type != DType::i8 || same_bits(cached.value_scales, expected.value_scales));
      const auto found = cached.forward(cuda(), types()), exact = cached.forward(reference(), kReferenceTypes);
      EXPECT_TRUE(close(found.output, exact.output, storage() == DType::f32 ? kF32 : kCudaBf16Forward));
      EXPECT_TRUE(close(found.log_sum_exp, exact.log_sum_exp, kF32));
      expect_same_weights(cached);
    }
  }
}

TEST_P(CudaAttention, FreshKeysAndValuesAreAppended) {
  const AttentionCase whole = make_case({.queries = {5, 1, 9, 0, 3}, .keys = {5, 9, 20, 8, 10}, .head_width = 17});
  for (const int64_t page_tokens : {0, 1, 4, 16}) {
    const AppendCase c{whole, Segments(std::vector<int64_t>{5, 1, 10, 0, 3}), page_tokens};
    EXPECT_TRUE(same_bits(c.run(cuda()), c.run(reference()))) << page_tokens;
  }
}

}  // namespace
}  // namespace heed::test
