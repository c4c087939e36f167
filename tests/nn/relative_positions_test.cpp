#include "nn/relative_positions.h"

#include <thread>

#include "kernels/cpu/cpu_backend.h"
#include "ops/op_testing.h"

namespace heed::test {
namespace {

TEST(Alibi, SlopesAreThoseOfThePaper) {
  EXPECT_EQ(alibi_slopes(Heads(8)),
            (std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625}));
  EXPECT_EQ(alibi_slopes(Heads(1)), (std::vector<double>{1.0 / 256.0}));
  // As the authors' get_slopes(6): those of 4 heads, then the first and third of 8.
  EXPECT_EQ(alibi_slopes(Heads(6)), (std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125}));
  EXPECT_EQ(alibi_slopes(Heads(12)).size(), 12U);
}

TEST(Alibi, ScoresFallWithTheDistanceInBothDirectionsForAnEncoder) {
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Alibi encoder(Heads(8), Visibility::Reach::full), decoder(Heads(8), Visibility::Reach::causal);
  const RelativeScores both = encoder.scores(pass, 100), behind = decoder.scores(pass, 100);
  EXPECT_LE(both.first, -100);
  EXPECT_EQ(get(both.table.value(), 1, -7 - both.first), -0.25 * 7.0);
  EXPECT_EQ(get(both.table.value(), 1, 100 - both.first), -0.25 * 100.0);
  EXPECT_EQ(get(behind.table.value(), 0, -100 - behind.first), -0.5 * 100.0);
  EXPECT_EQ(behind.table.columns(), 1 - behind.first);
}

TEST(Alibi, TheTableGrowsWithTheDistancesThatAreNeeded) {
  const auto backend = make_cpu_backend(1);
  Pass pass = Pass::infer(*backend, DType::f32);
  const Alibi alibi(Heads(2), Visibility::Reach::causal);
  for (const int64_t furthest : {1, 64, 65, 1000, 3}) {
    const RelativeScores scores = alibi.scores(pass, furthest);
    EXPECT_LE(scores.first, -furthest);
    EXPECT_EQ(get(scores.table.value(), 1, -furthest - scores.first), -static_cast<double>(furthest) / 256.0);
  }
}

// The values of transformers' T5Attention._relative_position_bucket.
TEST(Buckets, MatchT5) {
  const BucketRule both{32, 128, Visibility::Reach::full}, behind{32, 128, Visibility::Reach::causal};
  const std::vector<std::pair<int64_t, int64_t>> expected_both{
      {-200, 15}, {-128, 15}, {-100, 15}, {-64, 14}, {-63, 13}, {-32, 12}, {-20, 10},
      {-16, 10},  {-15, 9},   {-12, 9},   {-11, 8},  {-8, 8},   {-7, 7},   {-1, 1},
      {0, 0},     {1, 17},    {7, 23},    {8, 24},   {12, 25},  {64, 30},  {500, 31}};
  for (const auto& [distance, bucket] : expected_both) {
    EXPECT_EQ(both.bucket_of(distance), bucket) << distance;
  }
  const std::vector<std::pair<int64_t, int64_t>> expected_behind{
      {-500, 31}, {-128, 31}, {-113, 31}, {-112, 30}, {-64, 26}, {-32, 21}, {-20, 17},
      {-17, 16},  {-16, 16},  {-15, 15},  {-1, 1},    {0, 0},    {5, 0}};
  for (const auto& [distance, bucket] : expected_behind) {
    EXPECT_EQ(behind.bucket_of(distance), bucket) << distance;
  }
}

}  // namespace
}  // namespace heed::test
