// What the matrix units compute of attention in bf16: around the sizes of their tiles, with rows that begin where 16
// bytes do, which are moved at once, and others.
#include "kernels/attention_case.h"

#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

constexpr Tolerance kTilesForward{0.01, 0.01}, kTilesBackward{0.02, 0.02, 1e-2};
constexpr Layout kInPieces{8, 0};

class CudaAttentionTiles : public CudaTest {
 protected:
  void expect_same(const AttentionCase& c) {
    const auto actual = c.forward(cuda(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.output, expected.output, kTilesForward));
    EXPECT_TRUE(close(actual.log_sum_exp, expected.log_sum_exp, kF32));
    const auto d = c.backward(cuda(), actual, types()), expected_d = c.backward(reference(), actual, kReferenceTypes);
    EXPECT_TRUE(close(d.d_queries, expected_d.d_queries, kTilesBackward));
    EXPECT_TRUE(close(d.d_keys, expected_d.d_keys, kTilesBackward));
    EXPECT_TRUE(close(d.d_values, expected_d.d_values, kTilesBackward));
  }
  AttentionCase make_case(const AttentionShape& shape) { return AttentionCase::make(types(), shape); }
  AttentionCase causal(const AttentionShape& shape) { return AttentionCase::causal(types(), shape); }
};
INSTANTIATE_TEST_SUITE_P(Orders, CudaAttentionTiles,
                         ::testing::Values(cuda_setting(DType::bf16, ThreadOrder::forward),
                                           cuda_setting(DType::bf16, ThreadOrder::backward),
                                           cuda_setting(DType::bf16, ThreadOrder::shuffled)),
                         name_of_setting);

TEST_P(CudaAttentionTiles, MatchTheReferenceForAnyLength) {
  for (const int64_t length : {1, 16, 17, 33, 64, 65}) {
    SCOPED_TRACE(length);
    expect_same(
        causal({.queries = {length, 2}, .keys = {length + 1, 20}, .heads = 1, .key_value_heads = 1, .head_width = 32}));
  }
  expect_same(
      make_case({.queries = {2, 0, 3}, .keys = {129, 3, 0}, .heads = 1, .key_value_heads = 1, .head_width = 64}));
}

TEST_P(CudaAttentionTiles, MatchTheReferenceForEachHeadWidth) {
  for (const int64_t width : {32, 64, 128}) {
    SCOPED_TRACE(width);
    AttentionCase c =
        causal({.queries = {35, 3}, .keys = {35, 70}, .heads = 2, .key_value_heads = 1, .head_width = width})
            .laid_out(kInPieces);
    c.settings.dropout = dropout_of(0.25F);
    if (width == 64) {
      c.settings.visibility = Visibility::local(Visibility::Reach::full, 20);
    }
    expect_same(c);
  }
}

// More keys than are summed at once, by blocks of one split each, and by one block.
TEST_P(CudaAttentionTiles, SplitsOfKeysMatchTheReference) {
  const AttentionCase c = make_case({.queries = {2}, .keys = {600}, .heads = 1, .key_value_heads = 1, .head_width = 64})
                              .laid_out(kInPieces);
  const auto expected = c.forward(reference(), kReferenceTypes);
  const auto actual = c.forward(cuda(), types());
  EXPECT_TRUE(close(actual.output, expected.output, kTilesForward));
  EXPECT_TRUE(close(actual.log_sum_exp, expected.log_sum_exp, kF32));
}

TEST_P(CudaAttentionTiles, RowsThatLieOtherwiseHaveTheSameBits) {
  const AttentionCase c = causal({.queries = {20, 3}, .keys = {20, 70}, .head_width = 64}),
                      in_pieces = c.laid_out(kInPieces);
  const auto result = c.forward(cuda(), types()), other = in_pieces.forward(cuda(), types());
  EXPECT_TRUE(same_bits(result.output, other.output));
  const auto d = c.backward(cuda(), result, types()), other_d = in_pieces.backward(cuda(), other, types());
  EXPECT_TRUE(same_bits(d.d_queries, other_d.d_queries));
  EXPECT_TRUE(same_bits(d.d_keys, other_d.d_keys));
  EXPECT_TRUE(same_bits(d.d_values, other_d.d_values));
}

// A split's sum is added in a block that goes through all keys as it is where each split has a block of its own: there
// are so many sequences here that the former is done, and the last alone has the latter.
TEST_P(CudaAttentionTiles, ManySequencesHaveTheBitsOfOne) {
  std::vector<int64_t> queries(264, 0), keys(264, 0);
  queries.back() = 2;
  keys.back() = 330;
  const AttentionCase c =
      causal({.queries = queries, .keys = keys, .heads = 1, .key_value_heads = 1, .head_width = 32});
  const auto all = c.forward(cuda(), types()), alone = c.sequence(263).forward(cuda(), types());
  EXPECT_TRUE(same_bits(all.output, alone.output));
  EXPECT_TRUE(same_bits(all.log_sum_exp, alone.log_sum_exp));
}

}  // namespace
}  // namespace heed::test
