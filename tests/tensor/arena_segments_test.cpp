#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/random.h"
#include "tensor/arena.h"
#include "tensor/segments.h"

namespace heed {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;

TEST(Arena, BlocksAreAlignedDisjointAndCounted) {
  Arena arena;
  EXPECT_EQ(arena.extent(), 0);
  const Arena::Block a = arena.allocate(1), b = arena.allocate(65), c = arena.allocate(64);
  for (const Arena::Block* block : {&a, &b, &c}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block->address()) % 64, 0U);
  }
  EXPECT_EQ(a.bytes(), 64);
  EXPECT_EQ(b.bytes(), 128);
  EXPECT_EQ(arena.bytes_in_use(), 64 + 128 + 64);
  EXPECT_GE(b.address(), a.address() + 64);
  EXPECT_GE(c.address(), b.address() + 128);
}

TEST(Arena, ZeroBytesGiveAnEmptyBlockAndAbsurdSizesAreErrors) {
  Arena arena;
  EXPECT_EQ(arena.allocate(0).address(), nullptr);
  EXPECT_EQ(arena.extent(), 0);
  EXPECT_THROW(arena.allocate(-1), InternalError);
  EXPECT_THROW(arena.allocate(int64_t{1} << 50), IoError);
  EXPECT_THROW(arena.allocate(INT64_MAX), IoError);
}

TEST(Arena, PeakIsTheMaximumInUse) {
  Arena arena;
  { const Arena::Block a = arena.allocate(1000), b = arena.allocate(1000); }
  const Arena::Block c = arena.allocate(1000);
  EXPECT_EQ(arena.bytes_in_use(), 1024);
  EXPECT_EQ(arena.peak_bytes(), 2048);
}

TEST(Arena, WithNothingBehindItCountsBlocksOfAnySize) {
  Arena arena(Backing::none);
  {
    const Arena::Block a = arena.allocate(int64_t{1} << 50), b = arena.allocate(1);
    EXPECT_NE(a.address(), nullptr);
    EXPECT_EQ(a.address(), b.address());
    *b.address() = std::byte{1};  // small ones may be written
    EXPECT_EQ(arena.bytes_in_use(), (int64_t{1} << 50) + 64);
  }
  const Arena::Block c = arena.allocate(64);
  EXPECT_EQ(arena.bytes_in_use(), 64);
  EXPECT_EQ(arena.peak_bytes(), (int64_t{1} << 50) + 64);
}

TEST(Arena, NeighboursMergeInAnyOrderOfRelease) {
  // Three neighbours, released in each order, leave one hole that takes all of them again.
  for (const auto& order :
       std::vector<std::vector<size_t>>{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    Arena arena;
    std::vector<Arena::Block> blocks(3);
    for (Arena::Block& block : blocks) {
      block = arena.allocate(kMegabyte);
    }
    const Arena::Block last = arena.allocate(kMegabyte);
    std::byte* const first = blocks[0].address();
    for (const size_t which : order) {
      blocks[which] = Arena::Block();
    }
    EXPECT_EQ(arena.bytes_in_use(), kMegabyte);
    EXPECT_EQ(arena.allocate(3 * kMegabyte).address(), first);
    EXPECT_EQ(arena.extent(), 4 * kMegabyte);
  }
}

TEST(Arena, AHoleInTheMiddleIsReused) {
  Arena arena;
  const Arena::Block a = arena.allocate(kMegabyte);
  Arena::Block b = arena.allocate(kMegabyte), c = arena.allocate(kMegabyte);
  const Arena::Block d = arena.allocate(kMegabyte);
  std::byte* const hole = b.address();
  b = Arena::Block();
  c = Arena::Block();
  const Arena::Block both = arena.allocate(2 * kMegabyte);  // only if the two holes became one
  EXPECT_EQ(both.address(), hole);
}

TEST(Arena, ARepeatedStepTakesNoMoreMemory) {
  Arena arena;
  const auto step = [&arena](int64_t scale) {
    std::vector<Arena::Block> activations;
    for (int64_t layer = 0; layer < 12; ++layer) {
      activations.push_back(arena.allocate(scale * (100000 + layer * 1000)));
      activations.push_back(arena.allocate(scale * 4000));
      const Arena::Block temporary = arena.allocate(scale * 50000);
    }
    while (!activations.empty()) {
      const Arena::Block gradient = arena.allocate(scale * 100000);
      activations.pop_back();
    }
  };
  step(10);
  const int64_t extent = arena.extent(), peak = arena.peak_bytes();
  for (int round = 0; round < 100; ++round) {
    step(round % 10 + 1);
  }
  EXPECT_EQ(arena.extent(), extent);
  EXPECT_LT(extent, 2 * peak);
  EXPECT_EQ(arena.peak_bytes(), peak);
  EXPECT_EQ(arena.bytes_in_use(), 0);
}

TEST(Arena, BlocksCanBeMoved) {
  Arena arena;
  Arena::Block a = arena.allocate(100);
  std::byte* const address = a.address();
  Arena::Block b = std::move(a);
  EXPECT_EQ(b.address(), address);
  EXPECT_EQ(arena.bytes_in_use(), 128);
  b = arena.allocate(200);  // the old block goes back
  EXPECT_EQ(arena.bytes_in_use(), 256);
  Arena::Block& same = b;
  b = std::move(same);
  EXPECT_EQ(b.bytes(), 256);
  b = Arena::Block();
  EXPECT_EQ(arena.bytes_in_use(), 0);
}

TEST(Arena, BlocksNeverOverlap) {
  Arena arena;
  struct Filled {
    Arena::Block block;
    unsigned char pattern;
  };
  std::vector<Filled> held;
  const auto intact = [](const Filled& filled) {
    const std::vector<unsigned char> expected(static_cast<size_t>(filled.block.bytes()), filled.pattern);
    return std::memcmp(filled.block.address(), expected.data(), expected.size()) == 0;
  };
  for (uint64_t i = 0; i < 3000; ++i) {
    const uint64_t draw = mix_bits(i + 1);
    if (held.size() > 40 || (draw & 1U && !held.empty())) {
      const size_t which = (draw >> 8) % held.size();
      ASSERT_TRUE(intact(held[which]));
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      Filled filled{arena.allocate(static_cast<int64_t>((draw >> 8) % 200000 + 1)),
                    static_cast<unsigned char>(i % 251 + 1)};
      std::memset(filled.block.address(), filled.pattern, static_cast<size_t>(filled.block.bytes()));
      held.push_back(std::move(filled));
    }
  }
  for (const Filled& filled : held) {
    EXPECT_TRUE(intact(filled));
  }
  held.clear();
  EXPECT_EQ(arena.bytes_in_use(), 0);
}

TEST(Segments, AreEndToEnd) {
  const Segments segments(std::vector<int64_t>{3, 0, 5, 2}, 17);
  EXPECT_EQ(segments.count(), 4);
  EXPECT_EQ(segments.rows(), 10);
  EXPECT_EQ(segments.max_length(), 5);
  EXPECT_EQ(segments.first_row(), 17U);
  EXPECT_EQ(segments.begin(0), 0);
  EXPECT_EQ(segments.end(0), 3);
  EXPECT_EQ(segments.length(1), 0);
  EXPECT_EQ(segments.begin(2), 3);
  EXPECT_EQ(segments.end(2), 8);
}

TEST(Segments, MayBeEmptyOrOfEqualLengthButNotNegative) {
  EXPECT_EQ(Segments().count(), 0);
  EXPECT_EQ(Segments().rows(), 0);
  const Segments equal = Segments::equal(4, 6);
  EXPECT_EQ(equal.count(), 4);
  EXPECT_EQ(equal.begin(3), 18);
  EXPECT_EQ(equal.max_length(), 6);
  EXPECT_THROW(Segments(std::vector<int64_t>{2, -1}), ShapeError);
}

}  // namespace
}  // namespace heed
