#include <limits>

#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

// Probabilities and their gradients may be rounded to bf16 once more before they are multiplied. Where a query sees one
// key alone, d_P - D is zero in exact arithmetic and a rounding error of its terms, of about 1, otherwise.
constexpr Tolerance kBf16Forward{0.01, 0.01}, kBf16Backward{0.02, 0.02, 1e-2};
constexpr Tolerance kF32Backward{2e-5, 2e-5, 4e-6};
constexpr Tolerance kF32Sums{2e-5, 2e-5, 4e-5};  // of all pairs of a sequence, which may cancel

class CpuAttention : public CpuTest {
 protected:
  void expect_same(const AttentionCase& c) {
    const bool f32 = storage() == DType::f32;
    const auto actual = c.forward(cpu(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.output, expected.output, f32 ? kF32 : kBf16Forward));
    EXPECT_TRUE(close(actual.log_sum_exp, expected.log_sum_exp, kF32));
    if (!actual.mass.empty()) {
      EXPECT_TRUE(close(actual.mass, expected.mass, kF32));
      EXPECT_TRUE(actual.mass.untouched());
    }
    const Tolerance backward = f32 ? kF32Backward : kBf16Backward;
    const auto d = c.backward(cpu(), actual, types()), expected_d = c.backward(reference(), actual, kReferenceTypes);
    EXPECT_TRUE(close(d.d_queries, expected_d.d_queries, backward));
    EXPECT_TRUE(close(d.d_keys, expected_d.d_keys, backward));
    EXPECT_TRUE(close(d.d_values, expected_d.d_values, backward));
    if (!d.d_by_distance.empty()) {
      EXPECT_TRUE(close(d.d_by_distance, expected_d.d_by_distance, f32 ? kF32Sums : backward));
      EXPECT_TRUE(d.d_by_distance.untouched());
    }
  }
  AttentionCase make_case(const AttentionShape& shape) { return AttentionCase::make(types(), shape); }
  AttentionCase causal(const AttentionShape& shape) { return AttentionCase::causal(types(), shape); }
};

const AttentionShape kRagged{.queries = {5, 1, 17, 40}, .keys = {5, 1, 17, 40}, .head_width = 16};
const AttentionShape kRaggedCross{.queries = {5, 1, 17, 40}, .keys = {9, 3, 33, 12}, .head_width = 16};

TEST_P(CpuAttention, MatchesTheReferenceForAnyLength) {
  for (const int64_t length : kColumns) {
    SCOPED_TRACE(length);
    expect_same(make_case({.queries = {length}, .keys = {length}}));
    expect_same(causal({.queries = {length}, .keys = {length}}));
    expect_same(make_case({.queries = {3, length}, .keys = {length, 3}}));
  }
  for (const int64_t length : kRows) {
    SCOPED_TRACE(length);
    expect_same(causal({.queries = {length, 2}, .keys = {length + 1, 20}}));
  }
}

TEST_P(CpuAttention, MatchesTheReferenceForAnyHeadWidth) {
  for (const int64_t width : {1, 2, 8, 15, 16, 17, 31, 33, 64, 65, 80, 128, 256}) {
    SCOPED_TRACE(width);
    expect_same(causal({.queries = {19, 3}, .keys = {19, 3}, .head_width = width}));
    expect_same(make_case({.queries = {19, 3}, .keys = {7, 21}, .head_width = width}));
  }
}

TEST_P(CpuAttention, ValuesOfAnotherWidthMatchTheReference) {
  for (const auto& [width, value_width] :
       std::vector<std::pair<int64_t, int64_t>>{{16, 8}, {16, 64}, {17, 32}, {64, 33}, {32, 160}, {160, 32}}) {
    SCOPED_TRACE(fmt::format("{} columns of keys, {} of values", width, value_width));
    expect_same(
        causal({.queries = {19, 3, 150}, .keys = {19, 3, 150}, .head_width = width, .value_width = value_width}));
    AttentionCase c = make_case({.queries = {3, 40, 1},
                                 .keys = {7, 21, 200},
                                 .heads = 4,
                                 .key_value_heads = 2,
                                 .head_width = width,
                                 .value_width = value_width});
    c.settings.dropout = dropout_of(0.25F);
    expect_same(c);
  }
}

TEST_P(CpuAttention, CappedScoresMatchTheReference) {
  for (const double cap : {0.5, 3.0, 50.0}) {
    SCOPED_TRACE(cap);
    AttentionCase c = causal({.queries = {19, 3, 150}, .keys = {19, 3, 150}});
    c.settings.score_cap = cap;
    expect_same(c);
    c.settings.visibility = Visibility::local(Visibility::Reach::causal, 11);
    c.settings.dropout = dropout_of(0.25F);
    expect_same(c);
    AttentionCase few = make_case({.queries = {1, 3}, .keys = {130, 70}, .heads = 4, .key_value_heads = 2});
    few.settings.score_cap = cap;
    expect_same(few);
    const Tolerance rounding = storage() == DType::f32 ? kF32 : kBf16Forward;
    EXPECT_TRUE(close(few.weights(cpu(), types()), few.weights(reference(), kReferenceTypes), rounding));
  }
}

TEST_P(CpuAttention, LongSequencesMatchTheReference) {
  expect_same(causal({.queries = {530}, .keys = {530}, .heads = 1, .key_value_heads = 1, .head_width = 32}));
  expect_same(make_case({.queries = {9}, .keys = {1030}, .heads = 1, .key_value_heads = 1, .head_width = 32}));
  expect_same(make_case({.queries = {1030}, .keys = {9}, .heads = 1, .key_value_heads = 1, .head_width = 32}));
}

// The weights that each query gives to each distance, within its table and beyond its ends.
TEST_P(CpuAttention, MassByDistanceMatchesTheReference) {
  for (const auto& [first, distances] : std::vector<std::pair<int64_t, int64_t>>{{-140, 281}, {-9, 10}, {-20, 41}}) {
    SCOPED_TRACE(fmt::format("{} distances from {}", distances, first));
    expect_same(make_case({.queries = {70, 5, 0, 1}, .keys = {70, 5, 3, 130}}).with_mass(types(), first, distances));
    expect_same(causal({.queries = {70, 5, 130}, .keys = {70, 5, 130}, .heads = 4, .key_value_heads = 2})
                    .with_mass(types(), first, distances));
    AttentionCase dropped = causal(kRaggedCross).with_mass(types(), first, distances);
    dropped.settings.dropout = dropout_of(0.25F);
    expect_same(dropped);
    const AttentionMask mask = random_mask(dropped.query_segments, dropped.key_segments);
    dropped.settings.mask = &mask;
    expect_same(dropped);
  }
}

// Tables that reach all distances, and tables whose ends count for the distances beyond.
TEST_P(CpuAttention, TermsByDistanceMatchTheReference) {
  struct Table {
    int64_t first, distances;
  };
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    for (const Table& table : {Table{-140, 281}, Table{-140, 141}, Table{-9, 10}, Table{-20, 41}, Table{0, 1}}) {
      SCOPED_TRACE(fmt::format("of {}, {} distances from {}", static_cast<int>(of), table.distances, table.first));
      const auto with_table = [&](const AttentionCase& c) {
        return c.by_distance(types(), of, table.first, table.distances);
      };
      expect_same(with_table(make_case({.queries = {70, 5, 0, 1}, .keys = {70, 5, 3, 130}})));
      expect_same(
          with_table(causal({.queries = {70, 5, 130}, .keys = {70, 5, 130}, .heads = 4, .key_value_heads = 2})));
      AttentionCase dropped = with_table(causal(kRaggedCross));
      dropped.settings.dropout = dropout_of(0.25F);
      expect_same(dropped);
      const AttentionMask mask = random_mask(dropped.query_segments, dropped.key_segments);
      dropped.settings.mask = &mask;
      expect_same(dropped);
      EXPECT_TRUE(close(dropped.weights(cpu(), types()), dropped.weights(reference(), kReferenceTypes), kF32));
    }
  }
}

TEST_P(CpuAttention, BucketsAreSpreadOverDistances) {
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
  const auto found = run(cpu()), expected = run(reference());
  EXPECT_TRUE(same_bits(found.first, expected.first));
  EXPECT_TRUE(close(found.second, expected.second, kF32));
}

TEST_P(CpuAttention, GroupedHeadsMatchTheReference) {
  for (const int64_t key_value_heads : {1, 2, 3, 6}) {
    SCOPED_TRACE(key_value_heads);
    expect_same(causal({.queries = {19, 4}, .keys = {19, 4}, .heads = 6, .key_value_heads = key_value_heads}));
  }
}

TEST_P(CpuAttention, WindowsMatchTheReference) {
  for (const auto reach : {Visibility::Reach::full, Visibility::Reach::causal}) {
    for (const int64_t window : {1, 2, 7, 16, 33, 100}) {
      SCOPED_TRACE(fmt::format("reach {}, window {}", static_cast<int>(reach), window));
      AttentionCase c = make_case({.queries = {70, 5, 3}, .keys = {70, 5, 90}});
      c.settings.visibility = Visibility::local(reach, window);
      expect_same(c);
    }
  }
}

TEST_P(CpuAttention, StridesMatchTheReference) {
  for (const auto reach : {Visibility::Reach::full, Visibility::Reach::causal}) {
    for (const int64_t stride : {2, 3, 16, 200}) {
      SCOPED_TRACE(fmt::format("reach {}, stride {}", static_cast<int>(reach), stride));
      AttentionCase c = make_case({.queries = {270, 5, 3, 20}, .keys = {270, 5, 90, 6}});
      c.settings.visibility = Visibility::strided(reach, stride);
      expect_same(c);
      c.settings.visibility.window = 40;
      expect_same(c);
    }
  }
}

TEST_P(CpuAttention, StridesWithGroupedHeadsDropoutMasksAndWeightsMatchTheReference) {
  AttentionCase c = make_case({.queries = {170, 5, 3}, .keys = {170, 5, 90}, .heads = 4, .key_value_heads = 2});
  c.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  c.settings.dropout = dropout_of(0.25F);
  expect_same(c);
  const AttentionMask mask = random_mask(c.query_segments, c.key_segments, 0.4);
  c.settings.mask = &mask;
  expect_same(c);
  EXPECT_TRUE(close(c.weights(cpu(), types()), c.weights(reference(), kReferenceTypes), kF32));
}

TEST_P(CpuAttention, DropoutMatchesTheReference) {
  for (const AttentionShape& shape : {kRagged, kRaggedCross}) {
    AttentionCase c = make_case(shape);
    c.settings.dropout = dropout_of(0.25F);
    expect_same(c);
    c.settings.visibility = Visibility::local(Visibility::Reach::causal, 9);
    expect_same(c);
  }
}

TEST_P(CpuAttention, DropsExactlyTheValuesThatTheCounterSelects) {
  // With keys and queries of zero and values of one, an output counts the keys that were kept, and a value's gradient
  // the queries; so many that some of their draws are the threshold itself, and its neighbours.
  AttentionCase c = make_case({.queries = {701}, .keys = {500}, .heads = 1, .key_value_heads = 1, .head_width = 1});
  c.settings.dropout = dropout_of(0.3F);
  cpu().fill(c.queries.view(), 0.0);
  cpu().fill(c.keys.view(), 0.0);
  cpu().fill(c.values.view(), 1.0);
  cpu().fill(c.d_output.view(), 1.0);
  const Dropout& dropout = c.settings.dropout;
  std::vector<int64_t> of_key(500, 0);
  const auto result = c.forward(cpu(), types());
  const Guarded d_values = c.backward(cpu(), result, types()).d_values;
  const double rounding = storage() == DType::bf16 ? 0.01 : 1e-4;
  for (int64_t query = 0; query < 701; ++query) {
    const RowRandom row(dropout.key, dropout.first_row + static_cast<uint64_t>(query));
    int64_t kept = 0;
    for (uint32_t key = 0; key < 500; ++key) {
      const bool keep = row.draw16(key) >= dropout.threshold;
      kept += keep ? 1 : 0;
      of_key[key] += keep ? 1 : 0;
    }
    const double expected = static_cast<double>(kept) * static_cast<double>(dropout.scale()) / 500.0;
    EXPECT_NEAR(result.output.get(query, 0), expected, rounding) << "query " << query;
  }
  for (int64_t key = 0; key < 500; ++key) {
    const double expected =
        static_cast<double>(of_key[static_cast<size_t>(key)]) * static_cast<double>(dropout.scale()) / 500.0;
    EXPECT_NEAR(d_values.get(key, 0), expected, rounding) << "key " << key;
  }
}

TEST_P(CpuAttention, MasksMatchTheReferenceAndRowsThatSeeNothingAreZero) {
  for (const double density : {0.5, 0.02, 0.0}) {
    for (const Visibility& visibility : {Visibility::full(), Visibility::causal()}) {
      SCOPED_TRACE(density);
      AttentionCase c = make_case({.queries = {5, 1, 70}, .keys = {9, 3, 130}});
      const AttentionMask mask = random_mask(c.query_segments, c.key_segments, density);
      c.settings.mask = &mask;
      c.settings.visibility = visibility;
      expect_same(c);
      const auto result = c.forward(cpu(), types());
      const auto d = c.backward(cpu(), result, types());
      for (int64_t column = 0; column < c.queries.columns(); ++column) {
        EXPECT_EQ(result.output.get(1, column), 0.0);
        EXPECT_EQ(d.d_queries.get(1, column), 0.0);
      }
      EXPECT_EQ(result.log_sum_exp.get(1, 0), -std::numeric_limits<double>::infinity());
    }
  }
}

TEST_P(CpuAttention, WithMoreQueriesThanKeysTheFirstQueriesSeeNothing) {
  const AttentionCase c = causal({.queries = {20, 3}, .keys = {6, 3}});
  expect_same(c);
  const auto result = c.forward(cpu(), types());
  for (int64_t query = 0; query < 14; ++query) {
    EXPECT_EQ(result.output.get(query, 0), 0.0);
  }
}

TEST_P(CpuAttention, EmptySequencesMatchTheReference) {
  expect_same(make_case({.queries = {3, 0, 4, 0}, .keys = {5, 2, 0, 0}}));
  expect_same(causal({.queries = {3, 0, 4}, .keys = {3, 0, 4}}));
}

TEST_P(CpuAttention, LargeScoresStayFinite) {
  AttentionCase c = causal(kRagged);
  c.settings.scale = 40.0;
  const auto actual = c.forward(cpu(), types()), expected = c.forward(reference(), kReferenceTypes);
  EXPECT_TRUE(close(actual.output, expected.output, storage() == DType::f32 ? Tolerance{1e-3, 1e-3} : kBf16Forward));
}

TEST_P(CpuAttention, RequestedWeightsMatchTheReference) {
  AttentionCase c = causal(kRaggedCross);
  c.settings.dropout = dropout_of(0.25F);  // the weights are those before it
  const AttentionMask mask = random_mask(c.query_segments, c.key_segments);
  c.settings.mask = &mask;
  EXPECT_TRUE(close(c.weights(cpu(), types()), c.weights(reference(), kReferenceTypes), kF32));
}

TEST_P(CpuAttention, AWindowEqualsTheMaskOfTheSamePattern) {
  for (const auto reach : {Visibility::Reach::full, Visibility::Reach::causal}) {
    AttentionCase c = make_case({.queries = {70, 5, 3}, .keys = {70, 5, 90}});
    c.settings.visibility = Visibility::local(reach, 9);
    const auto by_window = c.forward(cpu(), types());
    AttentionMask mask(c.query_segments, c.key_segments);
    for (int64_t s = 0; s < 3; ++s) {
      const int64_t queries = mask.queries(s), keys = mask.keys(s);
      for (int64_t i = 0; i < queries; ++i) {
        for (int64_t j = 0; j < keys; ++j) {
          if (c.settings.visibility.sees(keys - queries + i, j)) {
            mask.show(s, i, j);
          }
        }
      }
    }
    c.settings.visibility = Visibility::full();
    c.settings.mask = &mask;
    const auto by_mask = c.forward(cpu(), types());
    EXPECT_TRUE(close(by_mask.output, by_window.output, storage() == DType::f32 ? kF32 : kBf16Forward));
    EXPECT_TRUE(close(by_mask.log_sum_exp, by_window.log_sum_exp, kF32));
  }
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuAttention);

}  // namespace
}  // namespace heed::test
