#include "base/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace heed {
namespace {

std::string checksum_of(const std::vector<std::vector<uint8_t>>& tensors) {
  Checksum checksum;
  for (const std::vector<uint8_t>& tensor : tensors) {
    checksum.add(std::as_bytes(std::span(tensor)));
  }
  return checksum.text();
}

TEST(ChecksumTest, DependsOnEveryBitAndOnTheLength) {
  std::set<std::string> seen;
  size_t count = 0;
  for (size_t size = 0; size < 140; ++size) {
    seen.insert(checksum_of({std::vector<uint8_t>(size, 0)}));
    ++count;
  }
  std::vector<uint8_t> bytes(139, 0);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<uint8_t>(1U << (bit % 8));
    seen.insert(checksum_of({bytes}));
    bytes[bit / 8] = 0;
    ++count;
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(ChecksumTest, BytesThatArriveInPartsHaveTheChecksumOfTheWhole) {
  std::vector<uint8_t> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i * 7);
  }
  const std::vector<uint8_t> before{1, 2, 3};
  for (const size_t size : {size_t{1}, size_t{7}, size_t{63}, size_t{64}, size_t{65}, size_t{200}, size_t{1000}}) {
    Checksum checksum;
    checksum.add_part(std::as_bytes(std::span(before)));
    checksum.end_parts();
    for (size_t begin = 0; begin < bytes.size(); begin += size) {
      checksum.add_part(std::as_bytes(std::span(bytes).subspan(begin, std::min(size, bytes.size() - begin))));
    }
    checksum.end_parts();
    checksum.end_parts();
    EXPECT_EQ(checksum.text(), checksum_of({before, bytes, {}})) << size;
  }
}

TEST(ChecksumTest, DependsOnTheOrderAndTheBordersOfTensors) {
  EXPECT_NE(checksum_of({{1, 2}, {3}}), checksum_of({{3}, {1, 2}}));
  EXPECT_NE(checksum_of({{1, 2}, {3}}), checksum_of({{1, 2, 3}}));
  EXPECT_NE(checksum_of({{}, {1}}), checksum_of({{1}}));
}

TEST(ChecksumTest, SaysWhichPartsOfALargeTensorItHasRead) {
  std::vector<uint8_t> tensor((size_t{9} << 20) + 7, 1);
  size_t read = 0, parts = 0;
  Checksum checksum;
  checksum.add(std::as_bytes(std::span(tensor)), [&](std::span<const std::byte> part) {
    EXPECT_EQ(static_cast<const void*>(part.data()), tensor.data() + read);
    read += part.size();
    ++parts;
  });
  EXPECT_EQ(parts, 3U);
  EXPECT_EQ(read, tensor.size() / 64 * 64);
  const std::string sum = checksum.text();
  tensor[5 << 20] = 2;
  EXPECT_NE(checksum_of({tensor}), sum);
}

// Computed by hand from the formula in docs/models/formats.md.
TEST(ChecksumTest, IsTheOneInExistingFiles) { EXPECT_EQ(checksum_of({{1, 2, 3}, {4}}), "94767f459eaf480b"); }

}  // namespace
}  // namespace heed
