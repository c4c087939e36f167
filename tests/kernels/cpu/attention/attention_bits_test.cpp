// A sequence's attention has the same bits in any batch, with a cache or without, wherever its keys are.
#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuAttentionBits : public CpuTest {
 protected:
  AttentionCase make_case(const AttentionShape& shape) { return AttentionCase::make(types(), shape); }
  AttentionCase causal(const AttentionShape& shape) { return AttentionCase::causal(types(), shape); }

  void expect_sequences_alone(const AttentionCase& c) {
    const auto all = c.forward(cpu(), types());
    const auto all_d = c.backward(cpu(), all, types());
    for (int64_t s = 0; s < c.query_segments.count(); ++s) {
      SCOPED_TRACE(s);
      const AttentionCase alone = c.sequence(s);
      const auto result = alone.forward(cpu(), types());
      const auto d = alone.backward(cpu(), result, types());
      const int64_t query = c.query_segments.begin(s), queries = c.query_segments.length(s);
      const int64_t key = c.key_segments.begin(s), keys = c.key_segments.length(s);
      EXPECT_TRUE(same_bits(result.output, all.output.rows(query, queries)));
      EXPECT_TRUE(same_bits(result.log_sum_exp, all.log_sum_exp.rows(query, queries)));
      if (!result.mass.empty()) {
        EXPECT_TRUE(same_bits(result.mass, all.mass.rows(query, queries)));
      }
      EXPECT_TRUE(same_bits(d.d_queries, all_d.d_queries.rows(query, queries)));
      EXPECT_TRUE(same_bits(d.d_keys, all_d.d_keys.rows(key, keys)));
      EXPECT_TRUE(same_bits(d.d_values, all_d.d_values.rows(key, keys)));
      if (!d.d_by_distance.empty()) {
        const bool of_heads = c.settings.by_distance.of == TableOf::head;
        const int64_t heads = c.settings.heads;
        EXPECT_TRUE(same_bits(d.d_by_distance, of_heads ? all_d.d_by_distance.rows(s * heads, heads)
                                                        : all_d.d_by_distance.rows(query, queries)));
      }
    }
  }

  // A decoder's view of a causal pass: `count` new queries at a time against all keys so far.
  void expect_chunks(const AttentionCase& c, int64_t count) {
    const auto all = c.forward(cpu(), types());
    for (int64_t first = 0; first < c.queries.rows(); first += count) {
      const int64_t now = std::min(count, c.queries.rows() - first);
      SCOPED_TRACE(fmt::format("{} queries from {} of {}", now, first, c.queries.rows()));
      const auto chunk = c.chunk(first, now).forward(cpu(), types());
      EXPECT_TRUE(same_bits(chunk.output, all.output.rows(first, now)));
      if (!all.mass.empty()) {
        EXPECT_TRUE(same_bits(chunk.mass, all.mass.rows(first, now)));
      }
    }
  }
};

TEST_P(CpuAttentionBits, ASequenceIsTheSameAloneAndAmongOthers) {
  const AttentionShape ragged{.queries = {5, 1, 70, 33, 16}, .keys = {5, 1, 70, 33, 16}, .head_width = 17};
  const AttentionShape cross{.queries = {5, 1, 70, 33, 16}, .keys = {65, 7, 2, 130, 16}, .heads = 4};
  expect_sequences_alone(make_case(ragged));
  expect_sequences_alone(causal(ragged));
  expect_sequences_alone(make_case({.queries = {5, 33}, .keys = {65, 7}, .heads = 4, .key_value_heads = 2}));
  AttentionCase dropped = make_case({.queries = cross.queries, .keys = cross.keys, .heads = 4, .key_value_heads = 4});
  dropped.settings.dropout = dropout_of(0.25F);
  expect_sequences_alone(dropped);
  AttentionCase local = causal(ragged);
  local.settings.visibility = Visibility::local(Visibility::Reach::causal, 11);
  expect_sequences_alone(local);
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    expect_sequences_alone(causal(ragged).by_distance(types(), of, -20, 21));
  }
  expect_sequences_alone(causal(ragged).with_mass(types(), -20, 21));
  local.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  expect_sequences_alone(local);
}

TEST_P(CpuAttentionBits, CachedDecodingIsTheFullPass) {
  for (const int64_t width : {16, 17, 64}) {
    const AttentionCase c = causal({.queries = {75}, .keys = {75}, .head_width = width});
    for (const int64_t count : {1, 2, 7, 40}) {
      SCOPED_TRACE(fmt::format("head width {}", width));
      expect_chunks(c, count);
    }
  }
}

TEST_P(CpuAttentionBits, CachedDecodingWithACapAndValuesOfAnotherWidthIsTheFullPass) {
  AttentionCase c = causal({.queries = {75}, .keys = {75}, .head_width = 32, .value_width = 48});
  c.settings.score_cap = 1.5;
  for (const int64_t count : {1, 3, 7, 40}) {
    expect_chunks(c, count);
  }
  AttentionCase ragged =
      causal({.queries = {5, 1, 70, 33}, .keys = {5, 1, 70, 33}, .head_width = 17, .value_width = 32});
  ragged.settings.score_cap = 1.5;
  expect_sequences_alone(ragged);
}

TEST_P(CpuAttentionBits, CachedDecodingByDistanceIsTheFullPass) {
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    const AttentionCase c = causal({.queries = {75}, .keys = {75}, .heads = 4, .key_value_heads = 2});
    for (const int64_t count : {1, 2, 7, 40}) {
      expect_chunks(c.by_distance(types(), of, -80, 81), count);
      expect_chunks(c.by_distance(types(), of, -11, 12), count);
      expect_chunks(c.with_mass(types(), -11, 12), count);
    }
  }
}

TEST_P(CpuAttentionBits, CachedDecodingOfALongSequenceIsTheFullPass) {
  const AttentionCase c = causal({.queries = {600}, .keys = {600}, .heads = 1, .key_value_heads = 1});
  const Guarded all = c.forward(cpu(), types()).output;
  for (const int64_t query : {0, 63, 64, 127, 128, 255, 256, 511, 512, 599}) {
    EXPECT_TRUE(same_bits(c.chunk(query, 1).forward(cpu(), types()).output, all.rows(query, 1))) << query;
  }
}

TEST_P(CpuAttentionBits, CachedDecodingWithAWindowIsTheFullPass) {
  AttentionCase c = causal({.queries = {75}, .keys = {75}, .heads = 4, .key_value_heads = 2});
  for (const int64_t window : {1, 5, 16, 40}) {
    SCOPED_TRACE(window);
    c.settings.visibility = Visibility::local(Visibility::Reach::causal, window);
    expect_chunks(c, 1);
    expect_chunks(c, 9);
  }
}

TEST_P(CpuAttentionBits, CachedDecodingWithAStrideIsTheFullPass) {
  AttentionCase c = causal({.queries = {275}, .keys = {275}, .heads = 4, .key_value_heads = 2});
  for (const int64_t stride : {2, 3, 16, 300}) {
    SCOPED_TRACE(stride);
    c.settings.visibility = Visibility::strided(Visibility::Reach::causal, stride);
    expect_chunks(c, 1);
    expect_chunks(c, 9);
  }
}

TEST_P(CpuAttentionBits, CachedDecodingWithSomeKeysInTheCacheIsTheFullPass) {
  // The queries are the last 30 of 75 positions.
  const AttentionCase c = causal({.queries = {30}, .keys = {75}, .head_width = 33});
  expect_chunks(c, 1);
  expect_chunks(c, 8);
}

TEST_P(CpuAttentionBits, AQuerysPositionAmongOthersDoesNotMatter) {
  // Beams: every query sees all keys, so that each is the same alone.
  const AttentionCase c = make_case({.queries = {20}, .keys = {37}});
  const Guarded all = c.forward(cpu(), types()).output;
  for (int64_t query = 0; query < 20; ++query) {
    AttentionCase one = c;
    one.queries = c.queries.rows(query, 1);
    one.query_segments = Segments(std::vector<int64_t>{1});
    EXPECT_TRUE(same_bits(one.forward(cpu(), types()).output, all.rows(query, 1))) << query;
  }
}

TEST_P(CpuAttentionBits, PagedKeysEqualContiguousKeys) {
  const AttentionCase self =
      causal({.queries = {5, 1, 70, 33}, .keys = {5, 1, 70, 33}, .heads = 4, .key_value_heads = 2, .head_width = 17});
  const AttentionCase step = causal({.queries = {1, 1, 1, 3}, .keys = {5, 1, 70, 130}, .head_width = 64});
  AttentionCase strided = self, strided_step = step;
  strided.settings.visibility = strided_step.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  for (const AttentionCase& c : {self, step, strided, strided_step}) {
    const auto contiguous = c.forward(cpu(), types());
    for (const int64_t page_tokens : {1, 4, 16, 64}) {
      SCOPED_TRACE(page_tokens);
      const PagedMemory paged(c, page_tokens);
      AttentionCase scattered = c;
      scattered.keys = paged.keys;
      scattered.values = paged.values;
      scattered.table = paged.pages.table();
      const auto result = scattered.forward(cpu(), types());
      EXPECT_TRUE(same_bits(result.output, contiguous.output));
      EXPECT_TRUE(same_bits(result.log_sum_exp, contiguous.log_sum_exp));
    }
  }
}

TEST_P(CpuAttentionBits, FreshKeysAndValuesAreAppended) {
  const AttentionCase whole = make_case({.queries = {5, 1, 70, 0, 33}, .keys = {5, 9, 70, 8, 40}, .head_width = 17});
  const std::vector<int64_t> fresh{5, 1, 40, 0, 3};
  for (const int64_t page_tokens : {0, 1, 4, 16}) {
    const AppendCase c{whole, Segments(fresh), page_tokens};
    EXPECT_TRUE(same_bits(c.run(cpu()), c.run(reference()))) << page_tokens;
  }
}

TEST_P(CpuAttentionBits, AskingForTheWeightsChangesNothing) {
  AttentionCase c = causal({.queries = {5, 33}, .keys = {5, 40}});
  c.settings.dropout = dropout_of(0.25F);
  const Guarded weights(DType::f32, 1, 2 * (5 * 5 + 33 * 40));
  const auto with = c.forward(cpu(), types(), weights), without = c.forward(cpu(), types());
  EXPECT_TRUE(same_bits(with.output, without.output));
  EXPECT_TRUE(same_bits(with.log_sum_exp, without.log_sum_exp));
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuAttentionBits);

}  // namespace
}  // namespace heed::test
