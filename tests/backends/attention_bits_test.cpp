// A sequence's attention has the same bits in any batch, with a cache or without, wherever its keys are.
#include "backends/backend_test.h"
#include "kernels/attention_case.h"

namespace heed::test {
namespace {

// New queries of a decoder: `count` at a time, the first of each such chunk being one of `firsts`, or all of them.
struct Chunks {
  int64_t count;
  std::vector<int64_t> firsts = {};
};

class BackendAttentionBits : public BackendTest {
 protected:
  AttentionCase make_case(const AttentionShape& shape) { return AttentionCase::make(types(), shape); }
  AttentionCase causal(const AttentionShape& shape) { return AttentionCase::causal(types(), shape); }

  void expect_sequences_alone(const AttentionCase& c) {
    const auto all = c.forward(backend(), types());
    const auto all_d = c.backward(backend(), all, types());
    for (int64_t s = 0; s < c.query_segments.count(); ++s) {
      SCOPED_TRACE(s);
      const AttentionCase alone = c.sequence(s);
      const auto result = alone.forward(backend(), types());
      const auto d = alone.backward(backend(), result, types());
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

  // A decoder's view of a causal pass: new queries against all keys so far.
  void expect_chunks(const AttentionCase& c, const OnEach<Chunks>& chunks) {
    const auto all = c.forward(backend(), types());
    for (const auto& [count, firsts] : here(chunks.cpu, chunks.cuda)) {
      for (const int64_t first : firsts.empty() ? multiples(count, c.queries.rows()) : firsts) {
        const int64_t now = std::min(count, c.queries.rows() - first);
        SCOPED_TRACE(fmt::format("{} queries from {} of {}", now, first, c.queries.rows()));
        const auto chunk = c.chunk(first, now).forward(backend(), types());
        EXPECT_TRUE(same_bits(chunk.output, all.output.rows(first, now)));
        if (!all.mass.empty()) {
          EXPECT_TRUE(same_bits(chunk.mass, all.mass.rows(first, now)));
        }
      }
    }
  }
  static std::vector<int64_t> multiples(int64_t of, int64_t end) {
    std::vector<int64_t> values;
    for (int64_t value = 0; value < end; value += of) {
      values.push_back(value);
    }
    return values;
  }

  AttentionShape ragged() const {
    const auto lengths = sizes({.cpu = {5, 1, 70, 33, 16}, .cuda = {5, 1, 33}});
    return {.queries = lengths, .keys = lengths, .head_width = 17};
  }
};

TEST_P(BackendAttentionBits, ASequenceIsTheSameAloneAndAmongOthers) {
  expect_sequences_alone(make_case(ragged()));
  expect_sequences_alone(causal(ragged()));
  expect_sequences_alone(make_case({.queries = {5, 33}, .keys = {65, 7}, .heads = 4, .key_value_heads = 2}));
  AttentionCase dropped = make_case({.queries = sizes({.cpu = {5, 1, 70, 33, 16}, .cuda = {5, 1, 40}}),
                                     .keys = sizes({.cpu = {65, 7, 2, 130, 16}, .cuda = {65, 7, 2}}),
                                     .heads = 4,
                                     .key_value_heads = here(4, 2)});
  dropped.settings.dropout = dropout_of(0.25F);
  expect_sequences_alone(dropped);
  AttentionCase local = causal(ragged());
  local.settings.visibility = Visibility::local(Visibility::Reach::causal, 11);
  expect_sequences_alone(local);
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    expect_sequences_alone(causal(ragged()).by_distance(types(), of, -20, 21));
  }
  expect_sequences_alone(causal(ragged()).with_mass(types(), -20, 21));
  local.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  expect_sequences_alone(local);
}

TEST_P(BackendAttentionBits, CachedDecodingIsTheFullPass) {
  for (const int64_t width : sizes({.cpu = {16, 17, 64}, .cuda = {17, 64}})) {
    SCOPED_TRACE(fmt::format("head width {}", width));
    expect_chunks(
        causal({.queries = {75}, .keys = {75}, .head_width = width}),
        {.cpu = {{1}, {2}, {7}, {40}}, .cuda = {{1, {0, 1, 31, 32, 63, 64, 74}}, {7, {0, 29, 60, 68}}, {40, {0, 35}}}});
  }
}

TEST_P(BackendAttentionBits, CachedDecodingWithACapAndValuesOfAnotherWidthIsTheFullPass) {
  AttentionCase c = causal({.queries = {75}, .keys = {75}, .head_width = 32, .value_width = 48});
  c.settings.score_cap = 1.5;
  expect_chunks(c, {.cpu = {{1}, {3}, {7}, {40}}, .cuda = {{1, {31, 64, 74}}, {7, {60}}}});
  AttentionShape shape = ragged();
  shape.value_width = 32;
  AttentionCase several = causal(shape);
  several.settings.score_cap = 1.5;
  expect_sequences_alone(several);
}

TEST_P(BackendAttentionBits, CachedDecodingByDistanceIsTheFullPass) {
  const AttentionCase c = causal({.queries = {75}, .keys = {75}, .heads = here(4, 2), .key_value_heads = here(2, 1)});
  const OnEach<Chunks> chunks{.cpu = {{1}, {2}, {7}, {40}}, .cuda = {{1, {0, 31, 64, 74}}, {7, {0, 30, 63}}}};
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    expect_chunks(c.by_distance(types(), of, -80, 81), chunks);
    expect_chunks(c.by_distance(types(), of, -11, 12), chunks);
  }
  expect_chunks(c.with_mass(types(), -11, 12), chunks);
}

// On GPUs the last queries of more keys than are summed at once.
TEST_P(BackendAttentionBits, CachedDecodingOfALongSequenceIsTheFullPass) {
  expect_chunks(causal({.queries = {here(600, 70)},
                        .keys = {here(600, 570)},
                        .heads = 1,
                        .key_value_heads = 1,
                        .head_width = here(16, 32)}),
                {.cpu = {{1, {0, 63, 64, 127, 128, 255, 256, 511, 512, 599}}},
                 .cuda = {{1, {0, 10, 11, 12, 13, 69}}, {20, {5, 50}}}});
}

TEST_P(BackendAttentionBits, CachedDecodingWithAWindowIsTheFullPass) {
  AttentionCase c =
      causal({.queries = {here(75, 30)}, .keys = {here(75, 330)}, .heads = here(4, 2), .key_value_heads = here(2, 1)});
  for (const int64_t window : sizes({.cpu = {1, 5, 16, 40}, .cuda = {5, 70}})) {
    SCOPED_TRACE(window);
    c.settings.visibility = Visibility::local(Visibility::Reach::causal, window);
    expect_chunks(c, {.cpu = {{1}, {9}}, .cuda = {{1, {0, 15, 20, 21, 29}}, {9, {3, 18}}}});
  }
}

TEST_P(BackendAttentionBits, CachedDecodingWithAStrideIsTheFullPass) {
  AttentionCase c = causal(
      {.queries = {here(275, 30)}, .keys = {here(275, 330)}, .heads = here(4, 2), .key_value_heads = here(2, 1)});
  for (const int64_t stride : sizes({.cpu = {2, 3, 16, 300}, .cuda = {3, 300}})) {
    SCOPED_TRACE(stride);
    c.settings.visibility = Visibility::strided(Visibility::Reach::causal, stride);
    expect_chunks(c, {.cpu = {{1}, {9}}, .cuda = {{1, {0, 15, 20, 21, 29}}, {9, {3, 18}}}});
  }
}

// The queries are the last 30 of 75 positions.
TEST_P(BackendAttentionBits, CachedDecodingWithSomeKeysInTheCacheIsTheFullPass) {
  expect_chunks(causal({.queries = {30}, .keys = {75}, .head_width = 33}),
                {.cpu = {{1}, {8}}, .cuda = {{1, {0, 18, 19, 29}}, {8}}});
}

// Beams: every query sees all keys, so that each is the same alone.
TEST_P(BackendAttentionBits, AQuerysPositionAmongOthersDoesNotMatter) {
  const AttentionCase c = make_case({.queries = {20}, .keys = {37}, .head_width = here(16, 64)});
  const Guarded all = c.forward(backend(), types()).output;
  for (int64_t query = 0; query < 20; ++query) {
    AttentionCase one = c;
    one.queries = c.queries.rows(query, 1);
    one.query_segments = Segments(std::vector<int64_t>{1});
    EXPECT_TRUE(same_bits(one.forward(backend(), types()).output, all.rows(query, 1))) << query;
  }
}

TEST_P(BackendAttentionBits, PagedKeysEqualContiguousKeys) {
  AttentionShape shape = ragged();
  shape.heads = 4;
  const AttentionCase self = causal(shape);
  const AttentionCase step = causal({.queries = sizes({.cpu = {1, 1, 1, 3}, .cuda = {1, 1, 3}}),
                                     .keys = sizes({.cpu = {5, 1, 70, 130}, .cuda = {5, 1, 280}}),
                                     .head_width = 64});
  AttentionCase strided = self, strided_step = step;
  strided.settings.visibility = strided_step.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  for (const AttentionCase& c : {self, step, strided, strided_step}) {
    const auto contiguous = c.forward(backend(), types());
    for (const int64_t page_tokens : sizes({.cpu = {1, 4, 16, 64}, .cuda = {1, 4, 16}})) {
      SCOPED_TRACE(page_tokens);
      const PagedMemory paged(c, page_tokens);
      AttentionCase scattered = c;
      scattered.keys = paged.keys;
      scattered.values = paged.values;
      scattered.table = paged.pages.table();
      const auto result = scattered.forward(backend(), types());
      EXPECT_TRUE(same_bits(result.output, contiguous.output));
      EXPECT_TRUE(same_bits(result.log_sum_exp, contiguous.log_sum_exp));
    }
  }
}

TEST_P(BackendAttentionBits, FreshKeysAndValuesAreAppended) {
  const AttentionCase whole = make_case({.queries = {5, 1, 70, 0, 33}, .keys = {5, 9, 70, 8, 40}, .head_width = 17});
  for (const int64_t page_tokens : {0, 1, 4, 16}) {
    const AppendCase c{whole, Segments(std::vector<int64_t>{5, 1, 40, 0, 3}), page_tokens};
    EXPECT_TRUE(same_bits(c.run(backend()), c.run(reference()))) << page_tokens;
  }
}

TEST_P(BackendAttentionBits, AskingForTheWeightsChangesNothing) {
  AttentionCase c = causal({.queries = {5, 33}, .keys = {5, 40}, .head_width = here(16, 64)});
  c.settings.dropout = dropout_of(0.25F);
  const Guarded weights(DType::f32, 1, 2 * (5 * 5 + 33 * 40));
  const auto with = c.forward(backend(), types(), weights), without = c.forward(backend(), types());
  EXPECT_TRUE(same_bits(with.output, without.output));
  EXPECT_TRUE(same_bits(with.log_sum_exp, without.log_sum_exp));
}

HEED_IN_EACH_SETTING(BackendAttentionBits, any_call);

}  // namespace
}  // namespace heed::test
