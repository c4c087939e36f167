#include "kernels/linear_attention_case.h"

#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

constexpr auto kCausalOnCuda = Visibility::Reach::causal, kFullOnCuda = Visibility::Reach::full;
constexpr Tolerance kCudaLinearF32{2e-5, 2e-5}, kCudaLinearF32Backward{1e-4, 1e-4, 4e-6},
    kCudaLinearBf16{0.01, 0.01, 1e-3};

class CudaLinearAttention : public CudaTest {
 protected:
  LinearAttentionCase make_case(const LinearAttentionShape& shape) { return LinearAttentionCase::make(types(), shape); }

  void expect_same(const LinearAttentionCase& c) {
    const bool f32 = storage() == DType::f32;
    const auto actual = c.forward(cuda(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.output, expected.output, f32 ? kCudaLinearF32 : kCudaLinearBf16));
    EXPECT_TRUE(close(actual.divisors, expected.divisors, kCudaLinearF32));
    const Tolerance backward = f32 ? kCudaLinearF32Backward : kCudaLinearBf16;
    const auto d = c.backward(cuda(), actual, types()), expected_d = c.backward(reference(), actual, kReferenceTypes);
    EXPECT_TRUE(close(d.d_queries, expected_d.d_queries, backward));
    EXPECT_TRUE(close(d.d_keys, expected_d.d_keys, backward));
    EXPECT_TRUE(close(d.d_values, expected_d.d_values, backward));
  }

  void expect_sequences_alone(const LinearAttentionCase& c) {
    const auto all = c.forward(cuda(), types());
    const auto all_d = c.backward(cuda(), all, types());
    for (int64_t s = 0; s < c.query_segments.count(); ++s) {
      SCOPED_TRACE(s);
      const LinearAttentionCase alone = c.sequence(s);
      const auto result = alone.forward(cuda(), types());
      const auto d = alone.backward(cuda(), result, types());
      const int64_t first = c.query_segments.begin(s), count = c.query_segments.length(s);
      EXPECT_TRUE(same_bits(result.output, all.output.rows(first, count)));
      EXPECT_TRUE(same_bits(result.divisors, all.divisors.rows(first, count)));
      EXPECT_TRUE(same_bits(d.d_queries, all_d.d_queries.rows(first, count)));
      EXPECT_TRUE(same_bits(d.d_keys, all_d.d_keys.rows(first, count)));
      EXPECT_TRUE(same_bits(d.d_values, all_d.d_values.rows(first, count)));
    }
  }
};

HEED_ON_CUDA(CudaLinearAttention);

TEST_P(CudaLinearAttention, MatchesTheReferenceForAnyLength) {
  for (const int64_t length : {1, 63, 64, 65, 130}) {
    SCOPED_TRACE(length);
    expect_same(make_case({.lengths = {length}, .reach = kCausalOnCuda}));
    expect_same(make_case({.lengths = {3, length, 0}, .reach = kFullOnCuda}));
  }
}

TEST_P(CudaLinearAttention, MatchesTheReferenceForAnyWidths) {
  for (const int64_t width : {1, 31, 32, 65}) {
    SCOPED_TRACE(width);
    for (const auto reach : {kCausalOnCuda, kFullOnCuda}) {
      expect_same(make_case({.lengths = {70, 3}, .key_width = width, .value_width = width, .reach = reach}));
      expect_same(make_case({.lengths = {70, 3},
                             .heads = 1,
                             .key_value_heads = 1,
                             .key_width = 16,
                             .value_width = width,
                             .reach = reach}));
      expect_same(make_case({.lengths = {70, 3},
                             .heads = 1,
                             .key_value_heads = 1,
                             .key_width = width,
                             .value_width = 32,
                             .reach = reach}));
    }
  }
}

TEST_P(CudaLinearAttention, FeaturesOfExpMatchTheReference) {
  for (const auto reach : {kCausalOnCuda, kFullOnCuda}) {
    for (const int64_t width : {17, 65}) {
      SCOPED_TRACE(width);
      expect_same(make_case(
          {.lengths = {70, 3}, .key_width = width, .value_width = 32, .reach = reach, .feature = LinearFeature::exp}));
    }
  }
}

TEST_P(CudaLinearAttention, ExponentsAreLimited) {
  LinearAttentionCase c = make_case({.lengths = {3}, .reach = kFullOnCuda, .feature = LinearFeature::exp});
  cuda().fill(c.queries.view(), 200.0);
  cuda().fill(c.keys.rows(1, 1).view(), -200.0);
  expect_same(c);
  const auto d = c.backward(cuda(), c.forward(cuda(), types()), types());
  for (int64_t column = 0; column < d.d_queries.columns(); ++column) {
    EXPECT_EQ(d.d_queries.get(1, column), 0.0);
    EXPECT_EQ(d.d_keys.get(1, column), 0.0);
  }
}

TEST_P(CudaLinearAttention, HeadsOfQueriesShareThoseOfKeys) {
  for (const auto reach : {kCausalOnCuda, kFullOnCuda}) {
    for (const int64_t key_value_heads : {1, 2}) {
      expect_same(make_case({.lengths = {70, 5}, .heads = 4, .key_value_heads = key_value_heads, .reach = reach}));
    }
  }
}

// What a query does not see may be anything finite: a mask that is off by one would show in the output or a gradient.
TEST_P(CudaLinearAttention, NothingLaterIsSeen) {
  for (const int64_t first : {1, 63, 64, 100}) {
    SCOPED_TRACE(first);
    const LinearAttentionCase c = make_case({.lengths = {130}});
    LinearAttentionCase changed = c;
    changed.keys = clone(c.keys);
    changed.values = clone(c.values);
    for (int64_t column = 0; column < c.keys.columns(); ++column) {
      changed.keys.set(first, column, 30.0);
      changed.values.set(first, column, -70.0);
    }
    const Guarded before = c.forward(cuda(), types()).output, after = changed.forward(cuda(), types()).output;
    EXPECT_TRUE(same_bits(after.rows(0, first), before.rows(0, first)));
    EXPECT_FALSE(same_bits(after.rows(first, 1), before.rows(first, 1)));
  }
}

TEST_P(CudaLinearAttention, DivisorsAreAboveZeroForTheLeastFeatures) {
  for (const double level : {-20.0, -1e30}) {
    LinearAttentionCase c = make_case({.lengths = {70}});
    for (const Guarded* x : {&c.queries, &c.keys}) {
      for (int64_t r = 0; r < x->rows(); ++r) {
        for (int64_t column = 0; column < x->columns(); ++column) {
          x->set(r, column, level);
        }
      }
    }
    expect_same(c);
    EXPECT_GT(c.forward(cuda(), types()).divisors.get(0, 0), 0.0);
  }
}

TEST_P(CudaLinearAttention, WeightsMatchTheReferenceAndSumToOne) {
  for (const auto reach : {kCausalOnCuda, kFullOnCuda}) {
    const LinearAttentionCase c =
        make_case({.lengths = {70, 5, 0, 130}, .heads = 4, .key_value_heads = 2, .reach = reach});
    const Guarded weights = c.weights(cuda(), types());
    EXPECT_TRUE(close(weights, c.weights(reference(), kReferenceTypes), kCudaLinearF32));
    double sum = 0.0;
    for (int64_t j = 0; j < 70; ++j) {
      sum += weights.get(0, 3 * 70 + j);  // of query 3
    }
    EXPECT_NEAR(sum, 1.0, 1e-5);
  }
}

TEST_P(CudaLinearAttention, ASequenceIsTheSameAloneAndAmongOthers) {
  for (const auto reach : {kCausalOnCuda, kFullOnCuda}) {
    expect_sequences_alone(make_case({.lengths = {5, 1, 70}, .key_width = 17, .value_width = 17, .reach = reach}));
    expect_sequences_alone(make_case(
        {.lengths = {67, 3}, .heads = 4, .key_value_heads = 2, .key_width = 64, .value_width = 64, .reach = reach}));
  }
}

// Cached steps of any size: states of whole chunks, and the tokens after them.
TEST_P(CudaLinearAttention, CachedDecodingIsTheFullPass) {
  for (const int64_t width : {17, 64}) {
    const LinearAttentionCase c =
        make_case({.lengths = {200}, .heads = 4, .key_value_heads = 2, .key_width = width, .value_width = width});
    const Guarded all = c.forward(cuda(), types()).output;
    for (const int64_t step : {40, 100}) {
      const StatesOfCase states(c, DType::f32);
      for (int64_t first = 0; first < 200; first += step) {
        const int64_t count = std::min<int64_t>(step, 200 - first);
        states.fold(cuda(), c.chunk(0, first));
        LinearAttentionCase part = c.chunk(first, count);
        part.states = states.view();
        // Keys and values that were summed are not read.
        part.keys = clone(part.keys);
        part.values = clone(part.values);
        for (int64_t r = 0; r < first / kLinearChunk * kLinearChunk; ++r) {
          part.keys.set(r, 0, std::nan(""));
          part.values.set(r, 0, std::nan(""));
        }
        EXPECT_TRUE(same_bits(part.forward(cuda(), types()).output, all.rows(first, count)))
            << count << " from " << first << ", width " << width;
      }
      EXPECT_TRUE(states.sums.untouched());
    }
  }
}

TEST_P(CudaLinearAttention, StatesOfSeveralSequencesMatchTheReference) {
  const LinearAttentionCase c = make_case({.lengths = {130, 20, 64}, .heads = 4, .key_value_heads = 2});
  LinearAttentionCase cached = c;
  const StatesOfCase states(c, DType::f32);
  states.fold(cuda(), c);
  cached.states = states.view();
  // Only the last query of each sequence.
  cached.queries = Guarded(storage(), 3, c.queries.columns());
  for (int64_t s = 0; s < 3; ++s) {
    for (int64_t column = 0; column < c.queries.columns(); ++column) {
      cached.queries.set(s, column, c.queries.get(c.query_segments.end(s) - 1, column));
    }
  }
  cached.query_segments = Segments(std::vector<int64_t>{1, 1, 1});
  states.tokens.set(0, 2, 0.0);  // its only chunk is the query's own: from the cache
  const LinearStates summed = cached.states;
  cached.states = {};
  const Guarded expected = cached.forward(reference(), kReferenceTypes).output;
  cached.states = summed;
  EXPECT_TRUE(close(cached.forward(cuda(), types()).output, expected,
                    storage() == DType::f32 ? kCudaLinearF32 : kCudaLinearBf16));
}

}  // namespace
}  // namespace heed::test
