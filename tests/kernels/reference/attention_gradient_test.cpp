#include <limits>

#include "kernels/attention_case.h"
#include "kernels/reference/finite_differences.h"
#include "kernels/reference/reference_backend.h"

namespace heed::test {
namespace {

void expect_gradients(const AttentionCase& c) {
  ReferenceBackend backend;
  const auto objective = [&] { return dot(c.forward(backend, kReferenceTypes).output, c.d_output); };
  const auto d = c.backward(backend, c.forward(backend, kReferenceTypes), kReferenceTypes);
  EXPECT_TRUE(is_gradient(d.d_queries, c.queries, objective));
  EXPECT_TRUE(is_gradient(d.d_keys, c.keys, objective));
  EXPECT_TRUE(is_gradient(d.d_values, c.values, objective));
}

const AttentionShape kCross{.queries = {3, 1, 2}, .keys = {4, 2, 5}, .head_width = 3};
const AttentionShape kSelf{.queries = {4, 1, 5}, .keys = {4, 1, 5}, .head_width = 3};

TEST(ReferenceAttention, FullBackwardIsTheGradient) { expect_gradients(AttentionCase::make(kReferenceTypes, kCross)); }

TEST(ReferenceAttention, CausalBackwardIsTheGradient) {
  expect_gradients(AttentionCase::causal(kReferenceTypes, kSelf));
}

TEST(ReferenceAttention, WindowedBackwardIsTheGradient) {
  for (const auto reach : {Visibility::Reach::full, Visibility::Reach::causal}) {
    AttentionCase c = AttentionCase::make(kReferenceTypes, kSelf);
    c.settings.visibility = Visibility::local(reach, 2);
    expect_gradients(c);
  }
}

TEST(ReferenceAttention, BackwardOfValuesOfAnotherWidthIsTheGradient) {
  for (const int64_t value_width : {1, 2, 5}) {
    expect_gradients(AttentionCase::make(kReferenceTypes, {.queries = {3, 2},
                                                           .keys = {4, 5},
                                                           .heads = 4,
                                                           .key_value_heads = 2,
                                                           .head_width = 3,
                                                           .value_width = value_width}));
  }
}

TEST(ReferenceAttention, BackwardOfCappedScoresIsTheGradient) {
  for (const float p : {0.0F, 0.3F}) {
    AttentionCase c = AttentionCase::causal(kReferenceTypes, kSelf);
    c.settings.score_cap = 0.7;
    c.settings.dropout = dropout_of(p);
    expect_gradients(c);
  }
}

// Two keys whose scores are far apart: their capped difference is at most twice the cap.
TEST(ReferenceAttention, ACapBoundsTheScores) {
  ReferenceBackend backend;
  AttentionCase c = AttentionCase::make(
      kReferenceTypes, {.queries = {1}, .keys = {2}, .heads = 1, .key_value_heads = 1, .head_width = 1});
  c.queries.set(0, 0, 100.0);
  c.keys.set(0, 0, 100.0);
  c.keys.set(1, 0, 0.5);
  c.settings.score_cap = 2.0;
  const double other = std::exp(2.0 * std::tanh(50.0 / 2.0));
  EXPECT_NEAR(c.weights(backend, kReferenceTypes).get(0, 0), std::exp(2.0) / (std::exp(2.0) + other), 1e-12);
}

// In `found`, each sequence has rows of its own for the heads.
Guarded summed_over_sequences(const Guarded& found, int64_t heads) {
  Guarded sums(DType::f64, heads, found.columns());
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t d = 0; d < found.columns(); ++d) {
      double sum = 0.0;
      for (int64_t row = head; row < found.rows(); row += heads) {
        sum += found.get(row, d);
      }
      sums.set(head, d, sum);
    }
  }
  return sums;
}

TEST(ReferenceAttention, BackwardByDistanceIsTheGradient) {
  ReferenceBackend backend;
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    for (const bool causal : {false, true}) {
      AttentionCase c =
          AttentionCase::make(kReferenceTypes, kSelf).by_distance(kReferenceTypes, of, -2, causal ? 3 : 5);
      c.settings.visibility = causal ? Visibility::causal() : Visibility::full();
      c.settings.dropout = dropout_of(0.3F);
      expect_gradients(c);
      const auto objective = [&] { return dot(c.forward(backend, kReferenceTypes).output, c.d_output); };
      const Guarded found = c.backward(backend, c.forward(backend, kReferenceTypes), kReferenceTypes).d_by_distance;
      EXPECT_TRUE(
          is_gradient(of == TableOf::head ? summed_over_sequences(found, 2) : found, c.distance_scores, objective));
    }
  }
}

TEST(ReferenceAttention, ATermByDistanceIsAddedToTheScores) {
  ReferenceBackend backend;
  AttentionCase c =
      AttentionCase::make(kReferenceTypes, {.queries = {2}, .keys = {4}, .heads = 1, .key_value_heads = 1});
  backend.fill(c.queries.view(), 0.0);
  c = c.by_distance(kReferenceTypes, TableOf::head, -2, 4);
  const Guarded weights = c.weights(backend, kReferenceTypes);
  // Query 0 is at position 2: its distances are -2 to 1; those of query 1 are -3, which counts as -2, to 0.
  const std::vector<std::vector<int64_t>> columns{{0, 1, 2, 3}, {0, 0, 1, 2}};
  for (size_t query = 0; query < 2; ++query) {
    double sum = 0.0;
    for (const int64_t column : columns[query]) {
      sum += std::exp(0.7 * c.distance_scores.get(0, column));
    }
    for (size_t key = 0; key < 4; ++key) {
      const double expected = std::exp(0.7 * c.distance_scores.get(0, columns[query][key])) / sum;
      EXPECT_NEAR(weights.get(0, static_cast<int64_t>(query * 4 + key)), expected, 1e-15);
    }
  }
}

TEST(ReferenceBuckets, BackwardIsTheGradient) {
  ReferenceBackend backend;
  const Guarded table = random(DType::f64, 3, 2, 60), upstream = random(DType::f64, 2, 5, 61);
  const Guarded buckets = integers({2, 0, 0, 2, 2});
  const auto spread = [&] {
    Guarded scores(DType::f64, 2, 5);
    backend.spread_buckets({table.view(), buckets.view(), scores.view()});
    return scores;
  };
  EXPECT_EQ(spread().get(1, 3), table.get(2, 1));
  const Guarded d_table(DType::f64, 3, 2);
  backend.fill(d_table.view(), 0.0);
  backend.spread_buckets_backward({buckets.view(), upstream.view(), d_table.view()});
  EXPECT_TRUE(is_gradient(d_table, table, [&] { return dot(spread(), upstream); }));
}

TEST(ReferenceAttention, GroupedHeadsBackwardIsTheGradient) {
  expect_gradients(AttentionCase::causal(
      kReferenceTypes, {.queries = {3, 4}, .keys = {3, 4}, .heads = 4, .key_value_heads = 2, .head_width = 2}));
}

TEST(ReferenceAttention, GroupedHeadsShareInOrder) {
  ReferenceBackend backend;
  const AttentionCase c = AttentionCase::causal(
      kReferenceTypes, {.queries = {3, 4}, .keys = {3, 4}, .heads = 6, .key_value_heads = 2, .head_width = 2});
  // The same with each key-value head written out three times.
  AttentionCase apart = c;
  apart.settings.key_value_heads = 6;
  apart.keys = Guarded(DType::f64, 7, 12);
  apart.values = Guarded(DType::f64, 7, 12);
  for (int64_t r = 0; r < 7; ++r) {
    for (int64_t column = 0; column < 12; ++column) {
      apart.keys.set(r, column, c.keys.get(r, column / 6 * 2 + column % 2));
      apart.values.set(r, column, c.values.get(r, column / 6 * 2 + column % 2));
    }
  }
  EXPECT_TRUE(same_bits(apart.forward(backend, kReferenceTypes).output, c.forward(backend, kReferenceTypes).output));
}

TEST(ReferenceAttention, DropoutBackwardIsTheGradient) {
  AttentionCase c = AttentionCase::causal(kReferenceTypes, kSelf);
  c.settings.dropout = dropout_of(0.4F);
  expect_gradients(c);
}

TEST(ReferenceAttention, MaskedBackwardIsTheGradientAndARowThatSeesNothingIsZero) {
  ReferenceBackend backend;
  AttentionCase c = AttentionCase::make(kReferenceTypes, kSelf);
  const AttentionMask mask = random_mask(c.query_segments, c.key_segments);
  c.settings.mask = &mask;
  expect_gradients(c);
  const auto result = c.forward(backend, kReferenceTypes);
  const auto d = c.backward(backend, result, kReferenceTypes);
  for (int64_t column = 0; column < c.queries.columns(); ++column) {
    EXPECT_EQ(result.output.get(1, column), 0.0);
    EXPECT_EQ(d.d_queries.get(1, column), 0.0);
  }
  EXPECT_EQ(result.log_sum_exp.get(1, 0), -std::numeric_limits<double>::infinity());
}

TEST(ReferenceAttention, WeightsAreProbabilitiesOverWhatIsVisible) {
  ReferenceBackend backend;
  AttentionCase c =
      AttentionCase::causal(kReferenceTypes, {.queries = {2}, .keys = {3}, .heads = 1, .key_value_heads = 1});
  c.settings.dropout = dropout_of(0.5F);  // the weights are those before it
  const Guarded weights = c.weights(backend, kReferenceTypes);
  const auto result = c.forward(backend, kReferenceTypes);
  ASSERT_EQ(weights.columns(), 6);
  for (int64_t query = 0; query < 2; ++query) {
    double sum = 0.0;
    for (int64_t key = 0; key < 3; ++key) {
      double dot_product = 0.0;
      for (int64_t column = 0; column < 16; ++column) {
        dot_product += c.queries.get(query, column) * c.keys.get(key, column);
      }
      const double expected =
          key <= query + 1 ? std::exp(c.settings.scale * dot_product - result.log_sum_exp.get(query, 0)) : 0.0;
      EXPECT_NEAR(weights.get(0, query * 3 + key), expected, 1e-15);
      sum += weights.get(0, query * 3 + key);
    }
    EXPECT_NEAR(sum, 1.0, 1e-15);
  }
}

TEST(ReferenceAttention, DropoutDrawsByQueryRowAndHead) {
  // With keys that are all alike and values of one, an output is the share of its keys that were kept, scaled.
  ReferenceBackend backend;
  const AttentionShape shape{.queries = {2, 3}, .keys = {6, 7}, .heads = 2, .key_value_heads = 1, .head_width = 1};
  AttentionCase c = AttentionCase::make(kReferenceTypes, shape);
  backend.fill(c.keys.view(), 0.0);
  backend.fill(c.values.view(), 1.0);
  c.settings.dropout = dropout_of(0.5F, 40);
  const auto result = c.forward(backend, kReferenceTypes);
  for (int64_t s = 0; s < 2; ++s) {
    for (int64_t row = c.query_segments.begin(s); row < c.query_segments.end(s); ++row) {
      for (int64_t head = 0; head < 2; ++head) {
        const RowRandom draws(c.settings.dropout.key, static_cast<uint64_t>((40 + row) * 2 + head));
        double kept = 0.0;
        for (uint32_t key = 0; key < c.key_segments.length(s); ++key) {
          kept += static_cast<double>(c.settings.dropout.factor(draws, key));
        }
        EXPECT_NEAR(result.output.get(row, head), kept / static_cast<double>(c.key_segments.length(s)), 1e-15);
      }
    }
  }
}

TEST(ReferenceAttention, PagesGiveTheSameAsContiguousRows) {
  ReferenceBackend backend;
  const AttentionCase c = AttentionCase::make(kReferenceTypes, kCross);
  const PagedMemory paged(c, 2);
  AttentionCase scattered = c;
  scattered.keys = paged.keys;
  scattered.values = paged.values;
  scattered.table = paged.pages.table();
  EXPECT_TRUE(
      same_bits(scattered.forward(backend, kReferenceTypes).output, c.forward(backend, kReferenceTypes).output));
}

TEST(ReferenceAttention, AppendedRowsAreTheLastOfTheirSequence) {
  ReferenceBackend backend;
  const AttentionCase whole =
      AttentionCase::make(kReferenceTypes, {.queries = {3, 0, 2}, .keys = {7, 4, 2}, .head_width = 2});
  const std::vector<int64_t> fresh{3, 0, 2};
  const AppendCase c{whole, Segments(fresh), 2};
  const Guarded cache = c.run(backend);
  const ShuffledPages pages(whole.key_segments, 2);
  const KeyValueView memory{cache.view(), cache.view(), &whole.key_segments, pages.table()};
  int64_t written = 0;
  for (int64_t row = 0; row < cache.rows(); ++row) {
    written += std::isnan(cache.get(row, 0)) ? 0 : 1;
  }
  EXPECT_EQ(written, 2 * 5);
  for (size_t s = 0; s < fresh.size(); ++s) {
    const auto sequence = static_cast<int64_t>(s);
    for (int64_t token = whole.key_segments.length(sequence) - fresh[s]; token < whole.key_segments.length(sequence);
         ++token) {
      const int64_t from = whole.key_segments.begin(sequence) + token, row = memory.row(sequence, token);
      for (int64_t column = 0; column < cache.columns(); ++column) {
        EXPECT_EQ(cache.get(row, column), whole.keys.get(from, column));
        EXPECT_EQ(cache.get(pages.rows + row, column), whole.values.get(from, column));
      }
    }
  }
}

Guarded rotated(Backend& backend, const Guarded& x, const Guarded& positions, Turn turn, int64_t dims = 6) {
  Guarded y = clone(x);
  backend.rotate({.x = y.view(), .position_rows = positions.view(), .heads = 2, .dims = dims, .turn = turn});
  return y;
}

TEST(ReferenceRotation, BackwardIsTheGradientAndTheInverse) {
  ReferenceBackend backend;
  const Guarded x = random(DType::f64, 4, 16, 50), upstream = random(DType::f64, 4, 16, 51);
  const Guarded positions = integers({0, 1, 7, 3});
  const auto objective = [&] { return dot(rotated(backend, x, positions, Turn::forward), upstream); };
  EXPECT_TRUE(is_gradient(rotated(backend, upstream, positions, Turn::backward), x, objective));
  const Guarded back = rotated(backend, rotated(backend, x, positions, Turn::forward), positions, Turn::backward);
  EXPECT_TRUE(close(back, x, {1e-14, 1e-14}));
}

TEST(ReferenceRotation, RotatesPairsHalfApartAndLeavesTheRest) {
  ReferenceBackend backend;
  const Guarded x = random(DType::f64, 2, 16, 52);
  const Guarded y = rotated(backend, x, integers({0, 5}), Turn::forward);
  for (int64_t column = 0; column < 16; ++column) {
    EXPECT_EQ(y.get(0, column), x.get(0, column));
  }
  for (const int64_t first : {0, 8}) {
    for (int64_t c = 0; c < 3; ++c) {
      const double angle = 5.0 * std::pow(10000.0, -static_cast<double>(c) / 3.0);
      const double a = x.get(1, first + c), b = x.get(1, first + c + 3);
      EXPECT_NEAR(y.get(1, first + c), a * std::cos(angle) - b * std::sin(angle), 1e-14);
      EXPECT_NEAR(y.get(1, first + c + 3), a * std::sin(angle) + b * std::cos(angle), 1e-14);
    }
    EXPECT_EQ(y.get(1, first + 6), x.get(1, first + 6));
    EXPECT_EQ(y.get(1, first + 7), x.get(1, first + 7));
  }
}

}  // namespace
}  // namespace heed::test
