#include "kernels/cpu/attention/attention_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace heed::cpu {
namespace {

std::vector<Slice> in_order(const Slices& slices) {
  std::vector<Slice> all;
  for (std::optional<Slice> slice = slices.first(); slice; slice = slices.after(*slice)) {
    all.push_back(*slice);
  }
  return all;
}

std::vector<Slice> block_by_block(const Slices& slices, int64_t keys) {
  std::vector<Slice> all;
  for (int64_t first_key = 0; first_key < keys; first_key += kKeyBlock) {
    for (const Slice::Of of : {Slice::Of::keys, Slice::Of::values}) {
      slices.for_each(of, first_key, [&all](const Slice& slice) { all.push_back(slice); });
    }
  }
  return all;
}

// What is prefetched follows after(), what is computed follows for_each().
TEST(AttentionSlices, BothWaysThroughThemAgree) {
  for (const int64_t row_bytes : {64, 768, 1536, 3072, 65536}) {
    for (const Visibility::Range seen : {Visibility::Range{0, 1}, {0, 64}, {0, 200}, {37, 70}, {63, 65}, {130, 131}}) {
      const Slices slices(seen, row_bytes);
      const std::vector<Slice> all = in_order(slices), blocks = block_by_block(slices, 256);
      ASSERT_EQ(all.size(), blocks.size());
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].of, blocks[i].of);
        EXPECT_EQ(all[i].begin, blocks[i].begin);
        EXPECT_EQ(all[i].end, blocks[i].end);
      }
    }
  }
}

TEST(AttentionSlices, CoverWhatIsSeenOnceInKeysAndOnceInValues) {
  for (const int64_t row_bytes : {64, 1536, 65536}) {
    int64_t next[] = {37, 37};
    for (const Slice& slice : in_order(Slices({37, 300}, row_bytes))) {
      int64_t& expected = next[static_cast<size_t>(slice.of)];
      EXPECT_EQ(slice.begin, expected);
      EXPECT_LT(slice.begin, slice.end);
      expected = slice.end;
    }
    EXPECT_EQ(next[0], 300);
    EXPECT_EQ(next[1], 300);
  }
}

TEST(AttentionSlices, ABlocksKeysComeBeforeItsValuesAndBothBeforeTheNextBlock) {
  std::vector<int64_t> halves;  // 2 * block, and one more for values
  for (const Slice& slice : in_order(Slices({0, 192}, 1536))) {
    EXPECT_EQ(slice.begin / kKeyBlock, (slice.end - 1) / kKeyBlock);
    halves.push_back(2 * (slice.begin / kKeyBlock) + static_cast<int64_t>(slice.of));
  }
  EXPECT_TRUE(std::is_sorted(halves.begin(), halves.end()));
  EXPECT_EQ(halves.back(), 5);
}

TEST(AttentionSlices, WideRowsMakeShortSlices) {
  EXPECT_EQ(in_order(Slices({0, 64}, 64)).size(), 2U);
  EXPECT_EQ(in_order(Slices({0, 64}, 1536)).size(), 8U);
  EXPECT_EQ(in_order(Slices({0, 64}, 1 << 20)).size(), 8U);  // 16 keys at least
}

TEST(AttentionSlices, NothingSeenMakesNone) {
  EXPECT_FALSE(Slices().first());
  EXPECT_FALSE(Slices({5, 5}, 1536).first());
  EXPECT_TRUE(block_by_block(Slices({5, 5}, 1536), 128).empty());
}

}  // namespace
}  // namespace heed::cpu
