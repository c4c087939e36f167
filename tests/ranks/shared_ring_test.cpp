#include "ranks/shared_memory/shared_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace heed {
namespace {

constexpr int kSlots = 3;
constexpr size_t kSlot = SharedSection::kSlotBytes;

std::vector<std::byte> bytes_of_size(size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

// A file's two sections as its owner maps them, and as another process would.
class SharedRings : public testing::Test {
 protected:
  SharedFile file_ = SharedFile::create(2 * SharedSection::bytes(kSlots)).value();
  SharedFile again_ = SharedFile::open(file_.address()).value();
  SharedSection own_ = SharedSection::map(file_, 1, kSlots).value();
  SharedSection other_ = SharedSection::map(again_, 1, kSlots).value();
};

TEST_F(SharedRings, WhatOneSidePutsTheOtherTakes) {
  SharedRing out = own_.make_ring(7).value(), in = other_.find_ring(7).value();
  for (const size_t size : {size_t{1}, kSlot, kSlot + 1, 3 * kSlot}) {
    const std::vector<std::byte> sent = bytes_of_size(size);
    std::vector<std::byte> received(size);
    EXPECT_EQ(out.put(sent), size);
    EXPECT_EQ(in.take(received), size);
    EXPECT_EQ(received, sent);
  }
}

TEST_F(SharedRings, AFullRingTakesMoreWhenPartsOfItWereRead) {
  SharedRing out = own_.make_ring(7).value(), in = other_.find_ring(7).value();
  const std::vector<std::byte> sent = bytes_of_size(5 * kSlot);
  std::vector<std::byte> received(sent.size());
  const std::span<const std::byte> from(sent);
  const std::span<std::byte> to(received);
  EXPECT_EQ(out.put(from), 3 * kSlot);
  EXPECT_EQ(out.put(from.subspan(3 * kSlot)), 0U);
  EXPECT_EQ(in.take(to.first(2 * kSlot)), 2 * kSlot);
  EXPECT_EQ(out.put(from.subspan(3 * kSlot)), 2 * kSlot);
  EXPECT_EQ(in.take(to.subspan(2 * kSlot)), 3 * kSlot);
  EXPECT_EQ(received, sent);
}

TEST_F(SharedRings, AnEmptyRingGivesNothing) {
  own_.make_ring(7);
  std::vector<std::byte> received(10);
  EXPECT_EQ(other_.find_ring(7)->take(received), 0U);
}

TEST_F(SharedRings, EachTagHasARingOfItsOwn) {
  EXPECT_FALSE(other_.find_ring(0));
  const std::vector<std::byte> first = bytes_of_size(100, 1), second = bytes_of_size(100, 2);
  own_.make_ring(0)->put(first);
  own_.make_ring(1)->put(second);
  std::vector<std::byte> received(100);
  EXPECT_EQ(other_.find_ring(1)->take(received), 100U);
  EXPECT_EQ(received, second);
  EXPECT_EQ(other_.find_ring(0)->take(received), 100U);
  EXPECT_EQ(received, first);
}

TEST_F(SharedRings, TheirNumberIsLimited) {
  for (int tag = 0; tag < SharedSection::kRings; ++tag) {
    EXPECT_TRUE(own_.make_ring(tag));
  }
  EXPECT_FALSE(own_.make_ring(SharedSection::kRings));
  EXPECT_TRUE(own_.make_ring(0));
}

TEST_F(SharedRings, SectionsOfAFileAreApart) {
  SharedSection first = SharedSection::map(file_, 0, kSlots).value();
  first.make_ring(3);
  EXPECT_FALSE(own_.find_ring(3));
}

TEST(SharedSection, SectionsBeginOnMultiplesOf64KiB) {
  for (int slots = 1; slots <= 5; ++slots) {
    EXPECT_EQ(SharedSection::bytes(slots) % (size_t{64} << 10), 0U) << slots;
  }
}

TEST(SharedFile, AFileThatDoesNotExistIsNotOpened) {
  EXPECT_FALSE(SharedFile::open("/proc/self/fd/99999"));
  EXPECT_FALSE(SharedFile::open(""));
}

}  // namespace
}  // namespace heed
