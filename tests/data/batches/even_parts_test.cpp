#include "data/batches/even_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace heed {
namespace {

using testing::ElementsAre;

TEST(EvenParts, EqualSequencesAreDividedEqually) {
  EXPECT_THAT(even_parts(std::vector<int64_t>(8, 5), 4), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(even_parts(std::vector<int64_t>(8, 5), 1), ElementsAre(8));
}

TEST(EvenParts, RowsCountRatherThanSequences) {
  EXPECT_THAT(even_parts(std::vector<int64_t>{30, 10, 10, 10}, 2), ElementsAre(1, 3));
}

TEST(EvenParts, NoPartIsEmpty) {
  EXPECT_THAT(even_parts(std::vector<int64_t>{7, 7}, 5), ElementsAre(1, 1));
  EXPECT_THAT(even_parts(std::vector<int64_t>{1, 100, 1}, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(even_parts(std::vector<int64_t>{0, 0}, 2), ElementsAre(2));
  EXPECT_TRUE(even_parts({}, 2).empty());
}

TEST(EvenParts, KeepsAllSequencesInBalancedParts) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<int64_t> rows(100);
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = static_cast<int64_t>(1 + RandomKey{seed}.derive(i).bits % 40);
    }
    const int64_t parts = 1 + static_cast<int64_t>(seed % 9);
    const std::vector<int64_t> counts = even_parts(rows, parts);
    ASSERT_EQ(static_cast<int64_t>(counts.size()), parts);
    ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), 100);
    const int64_t total = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    auto next = rows.begin();
    for (const int64_t count : counts) {
      const int64_t own = std::accumulate(next, next + count, int64_t{0});
      EXPECT_LE(std::abs(own - total / parts), 41) << "seed " << seed;
      next += count;
    }
  }
}

}  // namespace
}  // namespace heed
