#include "base/checksum.h"

#include <gtest/gtest.h>

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

TEST(ChecksumTest, DependsOnTheOrderAndTheBordersOfTensors) {
  EXPECT_NE(checksum_of({{1, 2}, {3}}), checksum_of({{3}, {1, 2}}));
  EXPECT_NE(checksum_of({{1, 2}, {3}}), checksum_of({{1, 2, 3}}));
  EXPECT_NE(checksum_of({{}, {1}}), checksum_of({{1}}));
}

// Computed by hand from the formula in docs/formats.md.
TEST(ChecksumTest, IsTheOneInExistingFiles) { EXPECT_EQ(checksum_of({{1, 2, 3}, {4}}), "94767f459eaf480b"); }

}  // namespace
}  // namespace heed
