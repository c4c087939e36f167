#include "nn/bigrams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/errors.h"

namespace heed::test {
namespace {

constexpr int32_t kTokens = 40;

// How many pairs have each row.
std::vector<int64_t> pairs_of_rows(int64_t rows) {
  std::vector<int64_t> pairs(static_cast<size_t>(rows));
  for (int32_t before = Sequences::kNothingBefore; before < kTokens; ++before) {
    for (int32_t token = 0; token < kTokens; ++token) {
      ++pairs.at(static_cast<size_t>(bigram_row(before, token, kTokens, rows)));
    }
  }
  return pairs;
}

TEST(Bigrams, HaveRowsOfTheirOwnWhereThereAreEnough) {
  EXPECT_THAT(pairs_of_rows(int64_t{kTokens} * (kTokens + 1)), testing::Each(1));
  EXPECT_EQ(bigram_row(Sequences::kNothingBefore, 7, kTokens, 5000), 7);
  EXPECT_EQ(bigram_row(0, 7, kTokens, 5000), kTokens + 7);
}

// 1,640 pairs share 164 rows: each row has ten, give or take the root of ten; six such deviations are never reached.
TEST(Bigrams, ShareRowsEvenlyWhereThereAreFewer) {
  const std::vector<int64_t> pairs = pairs_of_rows(164);
  EXPECT_LT(std::ranges::max(pairs), 29);
  EXPECT_LT(std::ranges::count(pairs, 0), 3);
  EXPECT_THAT(pairs_of_rows(1), testing::ElementsAre(1640));
}

TEST(Bigrams, BeginWithNothingOrWithWhatWasReadBefore) {
  Sequences sequences({{3, 5, 5}, {9}});
  const auto row = [](int32_t before, int32_t token) { return bigram_row(before, token, kTokens, 100); };
  constexpr int32_t kNothing = Sequences::kNothingBefore;
  EXPECT_THAT(bigram_rows(sequences, kTokens, 100),
              testing::ElementsAre(row(kNothing, 3), row(3, 5), row(5, 5), row(kNothing, 9)));
  sequences.set_before_first({8, kNothing});
  EXPECT_THAT(bigram_rows(sequences, kTokens, 100),
              testing::ElementsAre(row(8, 3), row(3, 5), row(5, 5), row(kNothing, 9)));
  EXPECT_THROW(sequences.set_before_first({1}), Error);
}

}  // namespace
}  // namespace heed::test
