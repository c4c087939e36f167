#include "kernels/attention_case.h"

#include <limits>

#include "backends/backend_test.h"

namespace heed::test {
namespace {

// Probabilities and their gradients may be rounded to bf16 once more before they are multiplied. Where a query sees one
// key alone, d_P - D is zero in exact arithmetic and a rounding error of its terms, of about 1, otherwise.
constexpr Tolerance kBf16Forward{0.01, 0.01}, kBf16Backward{0.02, 0.02, 1e-2};
constexpr Tolerance kF32Backward{2e-5, 2e-5, 4e-6};
constexpr Tolerance kF32Sums{2e-5, 2e-5, 4e-5};  // of all pairs of a sequence, which may cancel

using Lengths = std::vector<int64_t>;

class BackendAttention : public BackendTest {
 protected:
  Tolerance forward_tolerance() const { return storage() == DType::f32 ? kF32 : kBf16Forward; }

  void expect_same(const AttentionCase& c) {
    const bool f32 = storage() == DType::f32;
    const auto actual = c.forward(backend(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.output, expected.output, forward_tolerance()));
    EXPECT_TRUE(close(actual.log_sum_exp, expected.log_sum_exp, kF32));
    if (!actual.mass.empty()) {
      EXPECT_TRUE(close(actual.mass, expected.mass, kF32));
    }
    const Tolerance backward = f32 ? kF32Backward : kBf16Backward;
    const auto d = c.backward(backend(), actual, types()),
               expected_d = c.backward(reference(), actual, kReferenceTypes);
    EXPECT_TRUE(close(d.d_queries, expected_d.d_queries, backward));
    EXPECT_TRUE(close(d.d_keys, expected_d.d_keys, backward));
    EXPECT_TRUE(close(d.d_values, expected_d.d_values, backward));
    if (!d.d_by_distance.empty()) {
      EXPECT_TRUE(close(d.d_by_distance, expected_d.d_by_distance, f32 ? kF32Sums : backward));
    }
  }
  void expect_same_weights(const AttentionCase& c, Tolerance tolerance = kF32) {
    EXPECT_TRUE(close(c.weights(backend(), types()), c.weights(reference(), kReferenceTypes), tolerance));
  }
  AttentionCase make_case(const AttentionShape& shape) { return AttentionCase::make(types(), shape); }
  AttentionCase causal(const AttentionShape& shape) { return AttentionCase::causal(types(), shape); }

  // Sequences of several lengths: with as many keys as queries, and with another number.
  AttentionShape ragged() const {
    const Lengths lengths = here<Lengths>({5, 1, 17, 40}, {5, 1, 17});
    return {.queries = lengths, .keys = lengths, .head_width = 16};
  }
  AttentionShape ragged_cross() const {
    return {.queries = ragged().queries, .keys = here<Lengths>({9, 3, 33, 12}, {9, 3, 33}), .head_width = 16};
  }
  // Some distances lie beyond the ends of a short table.
  AttentionCase near_and_far() {
    return make_case({.queries = here<Lengths>({70, 5, 0, 1}, {20, 5, 0, 1}),
                      .keys = here<Lengths>({70, 5, 3, 130}, {20, 5, 3, 130})});
  }
  AttentionCase grouped_and_causal() {
    return causal({.queries = here<Lengths>({70, 5, 130}, {5, 1, 34}),
                   .keys = here<Lengths>({70, 5, 130}, {9, 3, 36}),
                   .heads = 4,
                   .key_value_heads = 2});
  }
  void expect_same_with_dropout_and_mask(AttentionCase c) {
    c.settings.dropout = dropout_of(0.25F);
    expect_same(c);
    const AttentionMask mask = random_mask(c.query_segments, c.key_segments);
    c.settings.mask = &mask;
    expect_same(c);
    expect_same_weights(c);
  }
};

TEST_P(BackendAttention, MatchesTheReferenceForAnyLength) {
  for (const int64_t length : sizes({.cpu = kColumns, .cuda = {17}})) {
    SCOPED_TRACE(length);
    expect_same(make_case({.queries = {length}, .keys = {length}}));
    expect_same(causal({.queries = {length}, .keys = {length}}));
    expect_same(make_case({.queries = {3, length}, .keys = {length, 3}}));
  }
  for (const int64_t length : sizes({.cpu = kRows, .cuda = {1, 33, 64, 65, 130}})) {
    SCOPED_TRACE(length);
    expect_same(
        causal({.queries = {length, 2}, .keys = {length + 1, 20}, .heads = here(2, 1), .key_value_heads = here(2, 1)}));
    expect_same(make_case({.queries = {3, 1}, .keys = {length, 3}}));
  }
}

TEST_P(BackendAttention, MatchesTheReferenceForAnyHeadWidth) {
  const int64_t queries = here(19, 9);
  for (const int64_t width :
       sizes({.cpu = {1, 2, 8, 15, 16, 17, 31, 33, 64, 65, 80, 128, 256}, .cuda = {1, 15, 17, 33, 64, 80, 128, 256}})) {
    SCOPED_TRACE(width);
    expect_same(causal({.queries = {19, 3}, .keys = {19, 3}, .head_width = width}));
    expect_same(make_case({.queries = {queries, 3}, .keys = {7, 21}, .head_width = width}));
  }
}

TEST_P(BackendAttention, ValuesOfAnotherWidthMatchTheReference) {
  for (const auto& [width, value_width] : shapes({.cpu = {{16, 8}, {16, 64}, {17, 32}, {64, 33}, {32, 160}, {160, 32}},
                                          .cuda = {{16, 64}, {17, 32}, {160, 33}}})) {
    SCOPED_TRACE(fmt::format("{} columns of keys, {} of values", width, value_width));
    const Lengths lengths = here<Lengths>({19, 3, 150}, {19, 3});
    expect_same(causal({.queries = lengths, .keys = lengths, .head_width = width, .value_width = value_width}));
    AttentionCase c = make_case({.queries = here<Lengths>({3, 40, 1}, {3, 12, 1}),
                                 .keys = here<Lengths>({7, 21, 200}, {7, 21, 70}),
                                 .heads = 4,
                                 .key_value_heads = 2,
                                 .head_width = width,
                                 .value_width = value_width});
    c.settings.dropout = dropout_of(0.25F);
    expect_same(c);
  }
}

TEST_P(BackendAttention, CappedScoresMatchTheReference) {
  for (const double cap : here<std::vector<double>>({0.5, 3.0, 50.0}, {0.5, 50.0})) {
    SCOPED_TRACE(cap);
    const Lengths lengths = here<Lengths>({19, 3, 150}, {19, 3, 40});
    AttentionCase c = causal({.queries = lengths, .keys = lengths});
    c.settings.score_cap = cap;
    expect_same(c);
    c.settings.visibility = Visibility::local(Visibility::Reach::causal, 11);
    c.settings.dropout = dropout_of(0.25F);
    expect_same(c);
    AttentionCase few = make_case({.queries = {1, 3}, .keys = {130, 70}, .heads = 4, .key_value_heads = 2});
    few.settings.score_cap = cap;
    expect_same(few);
    expect_same_weights(few, forward_tolerance());
  }
}

TEST_P(BackendAttention, LongSequencesMatchTheReference) {
  const auto shape_of = [](int64_t queries, int64_t keys) {
    return AttentionShape{.queries = {queries}, .keys = {keys}, .heads = 1, .key_value_heads = 1, .head_width = 32};
  };
  for (const auto& [queries, keys] : shapes({.cpu = {{9, 1030}, {1030, 9}}, .cuda = {{3, 600}, {300, 9}}})) {
    expect_same(make_case(shape_of(queries, keys)));
  }
  const int64_t length = here(530, 140);
  expect_same(causal(shape_of(length, length)));
}

// The weights that each query gives to each distance, within its table and beyond its ends.
TEST_P(BackendAttention, MassByDistanceMatchesTheReference) {
  for (const auto& [first, distances] :
       shapes({.cpu = {{-140, 281}, {-9, 10}, {-20, 41}, {-5, 1}}, .cuda = {{-140, 281}, {-9, 10}, {-5, 1}}})) {
    SCOPED_TRACE(fmt::format("{} distances from {}", distances, first));
    expect_same(near_and_far().with_mass(types(), first, distances));
    expect_same(grouped_and_causal().with_mass(types(), first, distances));
    expect_same_with_dropout_and_mask(causal(ragged_cross()).with_mass(types(), first, distances));
  }
}

// Tables that reach all distances, and tables whose ends count for the distances beyond.
TEST_P(BackendAttention, TermsByDistanceMatchTheReference) {
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    for (const auto& [first, distances] : shapes({.cpu = {{-140, 281}, {-140, 141}, {-9, 10}, {-20, 41}, {0, 1}},
                                          .cuda = {{-140, 281}, {-140, 141}, {-9, 10}, {0, 1}}})) {
      SCOPED_TRACE(fmt::format("of {}, {} distances from {}", static_cast<int>(of), distances, first));
      expect_same(near_and_far().by_distance(types(), of, first, distances));
      expect_same(grouped_and_causal().by_distance(types(), of, first, distances));
      expect_same_with_dropout_and_mask(causal(ragged_cross()).by_distance(types(), of, first, distances));
    }
  }
}

TEST_P(BackendAttention, BucketsAreSpreadOverDistances) {
  const Guarded table = random(types().master, 5, 3, 60), d_scores = random(types().master, 3, 40, 61, 1.0, {3, 2});
  Lengths numbers;
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
  const auto found = run(backend()), expected = run(reference());
  EXPECT_TRUE(same_bits(found.first, expected.first));
  EXPECT_TRUE(close(found.second, expected.second, kF32));
}

TEST_P(BackendAttention, GroupedHeadsMatchTheReference) {
  for (const int64_t key_value_heads : {1, 2, 3, 6}) {
    SCOPED_TRACE(key_value_heads);
    expect_same(causal({.queries = {19, 4}, .keys = {19, 4}, .heads = 6, .key_value_heads = key_value_heads}));
  }
}

TEST_P(BackendAttention, WindowsMatchTheReference) {
  for (const auto reach : {Visibility::Reach::full, Visibility::Reach::causal}) {
    for (const int64_t window : sizes({.cpu = {1, 2, 7, 16, 33, 100}, .cuda = {1, 33}})) {
      SCOPED_TRACE(fmt::format("reach {}, window {}", static_cast<int>(reach), window));
      AttentionCase c =
          make_case({.queries = {70, 5, 3}, .keys = {70, 5, 90}, .heads = here(2, 1), .key_value_heads = here(2, 1)});
      c.settings.visibility = Visibility::local(reach, window);
      expect_same(c);
    }
  }
}

TEST_P(BackendAttention, StridesMatchTheReference) {
  for (const auto reach : {Visibility::Reach::full, Visibility::Reach::causal}) {
    for (const auto& [window, stride] :
         shapes({.cpu = {{0, 2}, {0, 3}, {0, 16}, {0, 200}, {40, 2}, {40, 3}, {40, 16}, {40, 200}},
         .cuda = {{0, 200}, {40, 3}}})) {
      SCOPED_TRACE(fmt::format("reach {}, window {}, stride {}", static_cast<int>(reach), window, stride));
      AttentionCase c = make_case({.queries = here<Lengths>({270, 5, 3, 20}, {70, 3, 9}),
                                   .keys = here<Lengths>({270, 5, 90, 6}, {70, 90, 6}),
                                   .heads = here(2, 1),
                                   .key_value_heads = here(2, 1)});
      c.settings.visibility = {reach, window, stride};
      expect_same(c);
    }
  }
}

TEST_P(BackendAttention, StridesWithGroupedHeadsDropoutMasksAndWeightsMatchTheReference) {
  const int64_t length = here(170, 40);
  AttentionCase c = make_case({.queries = {length, 5, 3}, .keys = {length, 5, 90}, .heads = 4, .key_value_heads = 2});
  c.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  c.settings.dropout = dropout_of(0.25F);
  expect_same(c);
  const AttentionMask mask = random_mask(c.query_segments, c.key_segments, 0.4);
  c.settings.mask = &mask;
  expect_same(c);
  expect_same_weights(c);
}

TEST_P(BackendAttention, DropoutMatchesTheReference) {
  for (const AttentionShape& shape : {ragged(), ragged_cross()}) {
    AttentionCase c = make_case(shape);
    c.settings.dropout = dropout_of(0.25F);
    expect_same(c);
    c.settings.visibility = Visibility::local(Visibility::Reach::causal, 9);
    expect_same(c);
  }
}

// Heads that are some of a whole model's have the draws that they have there.
TEST_P(BackendAttention, DropoutOfSomeHeadsOfAWholeMatchesTheReference) {
  AttentionCase c = make_case(ragged_cross());
  c.settings.dropout = dropout_of(0.25F);
  c.settings.heads_of_whole = 8;
  c.settings.first_drawn_head = 3;
  expect_same(c);
}

// With keys and queries of zero and values of one, an output counts the keys that were kept, and a value's gradient the
// queries; on the CPU so many that some of their draws are the threshold itself, and its neighbours.
TEST_P(BackendAttention, DropsExactlyTheValuesThatTheCounterSelects) {
  const int64_t queries = here(701, 71), keys = here(500, 90);
  AttentionCase c =
      make_case({.queries = {queries}, .keys = {keys}, .heads = 1, .key_value_heads = 1, .head_width = 1});
  c.settings.dropout = dropout_of(0.3F);
  backend().fill(c.queries.view(), 0.0);
  backend().fill(c.keys.view(), 0.0);
  backend().fill(c.values.view(), 1.0);
  backend().fill(c.d_output.view(), 1.0);
  const Dropout& dropout = c.settings.dropout;
  Lengths of_key(static_cast<size_t>(keys), 0);
  const auto result = c.forward(backend(), types());
  const Guarded d_values = c.backward(backend(), result, types()).d_values;
  const double rounding = storage() == DType::bf16 ? 0.01 : 1e-4;
  const double share = static_cast<double>(dropout.scale()) / static_cast<double>(keys);
  for (int64_t query = 0; query < queries; ++query) {
    const RowRandom row(dropout.key, dropout.first_row + static_cast<uint64_t>(query));
    int64_t kept = 0;
    for (int64_t key = 0; key < keys; ++key) {
      const bool keep = row.draw16(static_cast<uint32_t>(key)) >= dropout.threshold;
      kept += keep ? 1 : 0;
      of_key[static_cast<size_t>(key)] += keep ? 1 : 0;
    }
    EXPECT_NEAR(result.output.get(query, 0), static_cast<double>(kept) * share, rounding) << "query " << query;
  }
  for (int64_t key = 0; key < keys; ++key) {
    EXPECT_NEAR(d_values.get(key, 0), static_cast<double>(of_key[static_cast<size_t>(key)]) * share, rounding)
        << "key " << key;
  }
}

TEST_P(BackendAttention, MasksMatchTheReferenceAndRowsThatSeeNothingAreZero) {
  const int64_t length = here(70, 30);
  for (const double density : {0.5, 0.02, 0.0}) {
    for (const Visibility& visibility : {Visibility::full(), Visibility::causal()}) {
      SCOPED_TRACE(density);
      AttentionCase c = make_case({.queries = {5, 1, length}, .keys = {9, 3, 130}});
      const AttentionMask mask = random_mask(c.query_segments, c.key_segments, density);
      c.settings.mask = &mask;
      c.settings.visibility = visibility;
      expect_same(c);
      const auto result = c.forward(backend(), types());
      const auto d = c.backward(backend(), result, types());
      for (int64_t column = 0; column < c.queries.columns(); ++column) {
        EXPECT_EQ(result.output.get(1, column), 0.0);
        EXPECT_EQ(d.d_queries.get(1, column), 0.0);
      }
      EXPECT_EQ(result.log_sum_exp.get(1, 0), -std::numeric_limits<double>::infinity());
    }
  }
}

TEST_P(BackendAttention, WithMoreQueriesThanKeysTheFirstQueriesSeeNothing) {
  const AttentionCase c = causal({.queries = {20, 3}, .keys = {6, 3}});
  expect_same(c);
  const auto result = c.forward(backend(), types());
  for (int64_t query = 0; query < 14; ++query) {
    EXPECT_EQ(result.output.get(query, 0), 0.0);
  }
}

TEST_P(BackendAttention, EmptySequencesMatchTheReference) {
  expect_same(make_case({.queries = {3, 0, 4, 0}, .keys = {5, 2, 0, 0}}));
  expect_same(causal({.queries = {3, 0, 4}, .keys = {3, 0, 4}}));
}

TEST_P(BackendAttention, LargeScoresStayFinite) {
  for (const AttentionShape& shape : {ragged(), ragged_cross()}) {
    AttentionCase c = causal(shape);
    c.settings.scale = 40.0;
    const auto actual = c.forward(backend(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.output, expected.output, storage() == DType::f32 ? Tolerance{1e-3, 1e-3} : kBf16Forward));
  }
}

TEST_P(BackendAttention, WhatIsNotANumberShows) {
  AttentionCase c = causal({.queries = {3}, .keys = {3}, .heads = 1, .key_value_heads = 1});
  c.keys.set(1, 0, std::nan(""));
  const Guarded output = c.forward(backend(), types()).output;
  EXPECT_TRUE(std::isfinite(output.get(0, 0)));
  EXPECT_TRUE(std::isnan(output.get(1, 0)) && std::isnan(output.get(2, 0)));
}

TEST_P(BackendAttention, RequestedWeightsMatchTheReference) {
  AttentionCase c = causal(ragged_cross());
  c.settings.dropout = dropout_of(0.25F);  // the weights are those before it
  const AttentionMask mask = random_mask(c.query_segments, c.key_segments);
  c.settings.mask = &mask;
  expect_same_weights(c, here(kF32, forward_tolerance()));
}

TEST_P(BackendAttention, AWindowEqualsTheMaskOfTheSamePattern) {
  for (const auto reach : {Visibility::Reach::full, Visibility::Reach::causal}) {
    AttentionCase c = make_case({.queries = {70, 5, 3}, .keys = {70, 5, 90}});
    c.settings.visibility = Visibility::local(reach, 9);
    const auto by_window = c.forward(backend(), types());
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
    const auto by_mask = c.forward(backend(), types());
    EXPECT_TRUE(close(by_mask.output, by_window.output, forward_tolerance()));
    EXPECT_TRUE(close(by_mask.log_sum_exp, by_window.log_sum_exp, kF32));
  }
}

HEED_IN_EACH_SETTING(BackendAttention, any_call);

}  // namespace
}  // namespace heed::test
