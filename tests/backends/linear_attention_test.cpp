#include "kernels/linear_attention_case.h"

#include "backends/backend_test.h"

namespace heed::test {
namespace {

constexpr auto kCausal = Visibility::Reach::causal, kFull = Visibility::Reach::full;
constexpr Tolerance kLinearF32{2e-5, 2e-5}, kLinearF32Backward{1e-4, 1e-4, 4e-6}, kLinearBf16{0.01, 0.01, 1e-3};

class BackendLinearAttention : public BackendTest {
 protected:
  LinearAttentionCase make_case(const LinearAttentionShape& shape) { return LinearAttentionCase::make(types(), shape); }

  void expect_same(const LinearAttentionCase& c) {
    const bool f32 = storage() == DType::f32;
    const auto actual = c.forward(backend(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.output, expected.output, f32 ? kLinearF32 : kLinearBf16));
    EXPECT_TRUE(close(actual.divisors, expected.divisors, kLinearF32));
    const Tolerance backward = f32 ? kLinearF32Backward : kLinearBf16;
    const auto d = c.backward(backend(), actual, types()),
               expected_d = c.backward(reference(), actual, kReferenceTypes);
    EXPECT_TRUE(close(d.d_queries, expected_d.d_queries, backward));
    EXPECT_TRUE(close(d.d_keys, expected_d.d_keys, backward));
    EXPECT_TRUE(close(d.d_values, expected_d.d_values, backward));
  }

  void expect_sequences_alone(const LinearAttentionCase& c) {
    const auto all = c.forward(backend(), types());
    const auto all_d = c.backward(backend(), all, types());
    for (int64_t s = 0; s < c.query_segments.count(); ++s) {
      SCOPED_TRACE(s);
      const LinearAttentionCase alone = c.sequence(s);
      const auto result = alone.forward(backend(), types());
      const auto d = alone.backward(backend(), result, types());
      const int64_t first = c.query_segments.begin(s), count = c.query_segments.length(s);
      EXPECT_TRUE(same_bits(result.output, all.output.rows(first, count)));
      EXPECT_TRUE(same_bits(result.divisors, all.divisors.rows(first, count)));
      EXPECT_TRUE(same_bits(d.d_queries, all_d.d_queries.rows(first, count)));
      EXPECT_TRUE(same_bits(d.d_keys, all_d.d_keys.rows(first, count)));
      EXPECT_TRUE(same_bits(d.d_values, all_d.d_values.rows(first, count)));
    }
  }
};

TEST_P(BackendLinearAttention, MatchesTheReferenceForAnyLength) {
  for (const int64_t length :
       sizes({.cpu = {1, 2, 16, 17, 63, 64, 65, 100, 128, 130, 193}, .cuda = {1, 63, 64, 65, 130}})) {
    SCOPED_TRACE(length);
    expect_same(make_case({.lengths = {length}, .reach = kCausal}));
    expect_same(make_case({.lengths = here<std::vector<int64_t>>({3, length, 0, 70}, {3, length, 0}), .reach = kFull}));
  }
}

TEST_P(BackendLinearAttention, MatchesTheReferenceForAnyWidths) {
  for (const int64_t width : sizes({.cpu = {1, 15, 16, 17, 32, 33, 63, 64, 65, 128}, .cuda = {1, 31, 32, 65}})) {
    SCOPED_TRACE(width);
    for (const auto reach : {kCausal, kFull}) {
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

TEST_P(BackendLinearAttention, FeaturesOfExpMatchTheReference) {
  for (const auto reach : {kCausal, kFull}) {
    for (const int64_t width : sizes({.cpu = {17, 32, 65}, .cuda = {17, 65}})) {
      SCOPED_TRACE(width);
      expect_same(make_case({.lengths = sizes({.cpu = {70, 3, 130}, .cuda = {70, 3}}),
                             .key_width = width,
                             .value_width = 32,
                             .reach = reach,
                             .feature = LinearFeature::exp}));
    }
  }
}

TEST_P(BackendLinearAttention, ExponentsAreLimited) {
  LinearAttentionCase c = make_case({.lengths = {3}, .reach = kFull, .feature = LinearFeature::exp});
  backend().fill(c.queries.view(), 200.0);
  backend().fill(c.keys.rows(1, 1).view(), -200.0);
  expect_same(c);
  const auto d = c.backward(backend(), c.forward(backend(), types()), types());
  for (int64_t column = 0; column < d.d_queries.columns(); ++column) {
    EXPECT_EQ(d.d_queries.get(1, column), 0.0);
    EXPECT_EQ(d.d_keys.get(1, column), 0.0);
  }
}

TEST_P(BackendLinearAttention, HeadsOfQueriesShareThoseOfKeys) {
  for (const auto reach : {kCausal, kFull}) {
    for (const int64_t key_value_heads : {1, 2}) {
      expect_same(make_case({.lengths = sizes({.cpu = {70, 5, 130}, .cuda = {70, 5}}),
                             .heads = 4,
                             .key_value_heads = key_value_heads,
                             .reach = reach}));
    }
  }
}

// What a query does not see may be anything finite: a mask that is off by one would show in the output or a gradient.
TEST_P(BackendLinearAttention, NothingLaterIsSeen) {
  for (const int64_t first : sizes({.cpu = {1, 15, 16, 63, 64, 65, 100}, .cuda = {1, 63, 64, 100}})) {
    SCOPED_TRACE(first);
    const LinearAttentionCase c = make_case({.lengths = {130}});
    LinearAttentionCase changed = c;
    changed.keys = clone(c.keys);
    changed.values = clone(c.values);
    for (int64_t column = 0; column < c.keys.columns(); ++column) {
      changed.keys.set(first, column, 30.0);
      changed.values.set(first, column, -70.0);
    }
    const Guarded before = c.forward(backend(), types()).output, after = changed.forward(backend(), types()).output;
    EXPECT_TRUE(same_bits(after.rows(0, first), before.rows(0, first)));
    EXPECT_FALSE(same_bits(after.rows(first, 1), before.rows(first, 1)));
  }
}

TEST_P(BackendLinearAttention, DivisorsAreAboveZeroForTheLeastFeatures) {
  for (const double level : here<std::vector<double>>({-20.0, -100.0, -1e30}, {-20.0, -1e30})) {
    LinearAttentionCase c = make_case({.lengths = {70}});
    for (const Guarded* x : {&c.queries, &c.keys}) {
      for (int64_t r = 0; r < x->rows(); ++r) {
        for (int64_t column = 0; column < x->columns(); ++column) {
          x->set(r, column, level);
        }
      }
    }
    expect_same(c);
    EXPECT_GT(c.forward(backend(), types()).divisors.get(0, 0), 0.0);
  }
}

TEST_P(BackendLinearAttention, WeightsMatchTheReferenceAndSumToOne) {
  for (const auto reach : {kCausal, kFull}) {
    const LinearAttentionCase c =
        make_case({.lengths = {70, 5, 0, 130}, .heads = 4, .key_value_heads = 2, .reach = reach});
    const Guarded weights = c.weights(backend(), types());
    EXPECT_TRUE(close(weights, c.weights(reference(), kReferenceTypes), kLinearF32));
    double sum = 0.0;
    for (int64_t j = 0; j < 70; ++j) {
      sum += weights.get(0, 3 * 70 + j);  // of query 3
    }
    EXPECT_NEAR(sum, 1.0, 1e-5);
  }
}

TEST_P(BackendLinearAttention, ASequenceIsTheSameAloneAndAmongOthers) {
  for (const auto reach : {kCausal, kFull}) {
    expect_sequences_alone(make_case({.lengths = sizes({.cpu = {5, 1, 70, 200, 64}, .cuda = {5, 1, 70}}),
                                      .key_width = 17,
                                      .value_width = 17,
                                      .reach = reach}));
    expect_sequences_alone(make_case({.lengths = sizes({.cpu = {129, 3}, .cuda = {67, 3}}),
                                      .heads = 4,
                                      .key_value_heads = 2,
                                      .key_width = 64,
                                      .value_width = 64,
                                      .reach = reach}));
  }
}

TEST_P(BackendLinearAttention, AnyNumberOfThreadsGivesTheSameBits) {
  const LinearAttentionCase c =
      make_case({.lengths = sizes({.cpu = {5, 300, 70}, .cuda = {5, 70}}), .heads = 4, .key_value_heads = 2});
  const auto one = make(1), three = make(3);
  const auto a = c.forward(*one, types()), b = c.forward(*three, types());
  EXPECT_TRUE(same_bits(a.output, b.output));
  EXPECT_TRUE(same_bits(c.backward(*one, a, types()).d_keys, c.backward(*three, b, types()).d_keys));
}

// Cached steps of any size: states of whole chunks, and the tokens after them.
TEST_P(BackendLinearAttention, CachedDecodingIsTheFullPass) {
  for (const int64_t width : sizes({.cpu = {16, 17, 64}, .cuda = {17, 64}})) {
    const LinearAttentionCase c =
        make_case({.lengths = {200}, .heads = 4, .key_value_heads = 2, .key_width = width, .value_width = width});
    const Guarded all = c.forward(backend(), types()).output;
    for (const int64_t step : sizes({.cpu = {3, 40, 64, 100}, .cuda = {40, 100}})) {
      const StatesOfCase states(c, DType::f32);
      for (int64_t first = 0; first < 200; first += step) {
        const int64_t count = std::min<int64_t>(step, 200 - first);
        states.fold(backend(), c.chunk(0, first));
        LinearAttentionCase part = c.chunk(first, count);
        part.states = states.view();
        // Keys and values that were summed are not read.
        part.keys = clone(part.keys);
        part.values = clone(part.values);
        for (int64_t r = 0; r < first / kLinearChunk * kLinearChunk; ++r) {
          part.keys.set(r, 0, std::nan(""));
          part.values.set(r, 0, std::nan(""));
        }
        EXPECT_TRUE(same_bits(part.forward(backend(), types()).output, all.rows(first, count)))
            << count << " from " << first << ", width " << width;
      }
      EXPECT_TRUE(states.sums.untouched());
    }
  }
}

TEST_P(BackendLinearAttention, StatesOfSeveralSequencesMatchTheReference) {
  const LinearAttentionCase c = make_case({.lengths = {130, 20, 64}, .heads = 4, .key_value_heads = 2});
  LinearAttentionCase cached = c;
  const StatesOfCase states(c, DType::f32);
  states.fold(backend(), c);
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
  EXPECT_TRUE(
      close(cached.forward(backend(), types()).output, expected, storage() == DType::f32 ? kLinearF32 : kLinearBf16));
}

HEED_IN_EACH_SETTING(BackendLinearAttention, any_call);

}  // namespace
}  // namespace heed::test
