// A sequence's attention has the same bits in any batch, with a cache or without, wherever its keys are.
#include "kernels/attention_case.h"

#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

class CudaAttentionBits : public CudaTest {
 protected:
  AttentionCase make_case(const AttentionShape& shape) { return AttentionCase::make(types(), shape); }
  AttentionCase causal(const AttentionShape& shape) { return AttentionCase::causal(types(), shape); }

  void expect_sequences_alone(const AttentionCase& c) {
    const auto all = c.forward(cuda(), types());
    const auto all_d = c.backward(cuda(), all, types());
    for (int64_t s = 0; s < c.query_segments.count(); ++s) {
      SCOPED_TRACE(s);
      const AttentionCase alone = c.sequence(s);
      const auto result = alone.forward(cuda(), types());
      const auto d = alone.backward(cuda(), result, types());
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

  // A decoder's view of a causal pass: the `count` queries from each of these on, against all keys until then.
  void expect_chunks(const AttentionCase& c, int64_t count, const std::vector<int64_t>& firsts) {
    const auto all = c.forward(cuda(), types());
    for (const int64_t first : firsts) {
      SCOPED_TRACE(fmt::format("{} queries from {} of {}", count, first, c.queries.rows()));
      const auto chunk = c.chunk(first, count).forward(cuda(), types());
      EXPECT_TRUE(same_bits(chunk.output, all.output.rows(first, count)));
      if (!all.mass.empty()) {
        EXPECT_TRUE(same_bits(chunk.mass, all.mass.rows(first, count)));
      }
    }
  }
};
HEED_ON_CUDA(CudaAttentionBits);

TEST_P(CudaAttentionBits, ASequenceIsTheSameAloneAndAmongOthers) {
  const AttentionShape ragged{.queries = {5, 1, 33}, .keys = {5, 1, 33}, .head_width = 17};
  const AttentionShape cross{.queries = {5, 1, 40}, .keys = {65, 7, 2}, .heads = 4, .key_value_heads = 2};
  AttentionCase dropped = make_case(cross);
  dropped.settings.dropout = dropout_of(0.25F);
  expect_sequences_alone(dropped);
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    expect_sequences_alone(causal(ragged).by_distance(types(), of, -20, 21));
  }
  expect_sequences_alone(causal(ragged).with_mass(types(), -20, 21));
  AttentionCase strided = causal(ragged);
  strided.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  expect_sequences_alone(strided);
}

TEST_P(CudaAttentionBits, CachedDecodingIsTheFullPass) {
  for (const int64_t width : {17, 64}) {
    SCOPED_TRACE(fmt::format("head width {}", width));
    const AttentionCase c = causal({.queries = {75}, .keys = {75}, .head_width = width});
    expect_chunks(c, 1, {0, 1, 31, 32, 63, 64, 74});
    expect_chunks(c, 7, {0, 29, 60, 68});
    expect_chunks(c, 40, {0, 35});
  }
}

TEST_P(CudaAttentionBits, CachedDecodingByDistanceIsTheFullPass) {
  const AttentionCase c = causal({.queries = {70}, .keys = {70}, .heads = 2, .key_value_heads = 1});
  for (const TableOf of : {TableOf::head, TableOf::query}) {
    expect_chunks(c.by_distance(types(), of, -11, 12), 1, {0, 31, 64, 69});
    expect_chunks(c.with_mass(types(), -11, 12), 7, {0, 30, 63});
  }
}

TEST_P(CudaAttentionBits, CachedDecodingOfALongSequenceIsTheFullPass) {
  // The last queries of more keys than are summed at once.
  const AttentionCase c = causal({.queries = {70}, .keys = {570}, .heads = 1, .key_value_heads = 1, .head_width = 32});
  expect_chunks(c, 1, {0, 10, 11, 12, 13, 69});
  expect_chunks(c, 20, {5, 50});
}

TEST_P(CudaAttentionBits, CachedDecodingWithAWindowOrAStrideIsTheFullPass) {
  AttentionCase c = causal({.queries = {30}, .keys = {330}, .heads = 2, .key_value_heads = 1});
  for (const Visibility& visibility :
       {Visibility::local(Visibility::Reach::causal, 5), Visibility::local(Visibility::Reach::causal, 70),
        Visibility::strided(Visibility::Reach::causal, 3), Visibility::strided(Visibility::Reach::causal, 300)}) {
    c.settings.visibility = visibility;
    expect_chunks(c, 1, {0, 15, 20, 21, 29});
    expect_chunks(c, 9, {3, 18});
  }
}

TEST_P(CudaAttentionBits, AQuerysPositionAmongOthersDoesNotMatter) {
  // Beams: every query sees all keys, so that each is the same alone.
  const AttentionCase c = make_case({.queries = {20}, .keys = {37}, .head_width = 64});
  const Guarded all = c.forward(cuda(), types()).output;
  for (const int64_t query : {0, 7, 15, 16, 19}) {
    AttentionCase one = c;
    one.queries = c.queries.rows(query, 1);
    one.query_segments = Segments(std::vector<int64_t>{1});
    EXPECT_TRUE(same_bits(one.forward(cuda(), types()).output, all.rows(query, 1))) << query;
  }
}

TEST_P(CudaAttentionBits, PagedKeysEqualContiguousKeys) {
  const AttentionCase self =
      causal({.queries = {5, 1, 33}, .keys = {5, 1, 33}, .heads = 4, .key_value_heads = 2, .head_width = 17});
  const AttentionCase step = causal({.queries = {1, 1, 3}, .keys = {5, 1, 280}, .head_width = 64});
  AttentionCase strided = step;
  strided.settings.visibility = Visibility::strided(Visibility::Reach::causal, 3);
  for (const AttentionCase& c : {self, step, strided}) {
    const auto contiguous = c.forward(cuda(), types());
    for (const int64_t page_tokens : {1, 4, 16}) {
      SCOPED_TRACE(page_tokens);
      const PagedMemory paged(c, page_tokens);
      AttentionCase scattered = c;
      scattered.keys = paged.keys;
      scattered.values = paged.values;
      scattered.table = paged.pages.table();
      const auto result = scattered.forward(cuda(), types());
      EXPECT_TRUE(same_bits(result.output, contiguous.output));
      EXPECT_TRUE(same_bits(result.log_sum_exp, contiguous.log_sum_exp));
    }
  }
}

TEST_P(CudaAttentionBits, ACacheInInt8IsTheSameInAnyCompanyAndInAnyPages) {
  const AttentionCase c = causal({.queries = {5, 1, 20}, .keys = {5, 130, 33}, .heads = 4, .head_width = 32});
  const Guarded all = c.cached_in(cuda(), DType::i8).forward(cuda(), types()).output;
  const ShuffledPages pages(c.key_segments, 16);
  EXPECT_TRUE(
      same_bits(c.cached_in(cuda(), DType::i8, pages.table(), pages.rows).forward(cuda(), types()).output, all));
  for (int64_t s = 0; s < c.query_segments.count(); ++s) {
    const Guarded alone = c.sequence(s).cached_in(cuda(), DType::i8).forward(cuda(), types()).output;
    EXPECT_TRUE(same_bits(alone, all.rows(c.query_segments.begin(s), c.query_segments.length(s)))) << s;
  }
}

TEST_P(CudaAttentionBits, AskingForTheWeightsChangesNothing) {
  AttentionCase c = causal({.queries = {5, 20}, .keys = {5, 40}, .head_width = 64});
  c.settings.dropout = dropout_of(0.25F);
  const Guarded weights(DType::f32, 1, 2 * (5 * 5 + 20 * 40));
  const auto with = c.forward(cuda(), types(), weights), without = c.forward(cuda(), types());
  EXPECT_TRUE(same_bits(with.output, without.output));
  EXPECT_TRUE(same_bits(with.log_sum_exp, without.log_sum_exp));
}

}  // namespace
}  // namespace heed::test
