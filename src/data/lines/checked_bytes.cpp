#include "data/lines/checked_bytes.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/errors.h"
#include "base/rounding.h"

namespace heed {
namespace {

uint64_t checksum_of_block(std::span<const std::byte> block) {
  Checksum checksum;
  checksum.add(block);
  return checksum.value();
}

std::span<const std::byte> block_of(std::span<const std::byte> bytes, size_t block) {
  const size_t begin = block * CheckedBytes::kBlock;
  return bytes.subspan(begin, std::min(CheckedBytes::kBlock, bytes.size() - begin));
}

size_t blocks_of(std::span<const std::byte> bytes) { return ceil_div(bytes.size(), CheckedBytes::kBlock); }

}  // namespace

CheckedBytes::CheckedBytes(std::span<const std::byte> bytes, std::vector<uint64_t> checksums,
                           std::shared_ptr<const void> owner, std::string where)
    : bytes_(bytes),
      checksums_(std::move(checksums)),
      owner_(std::move(owner)),
      where_(std::move(where)),
      verified_(std::make_unique<std::atomic<bool>[]>(blocks_of(bytes))) {
  require<FormatError>(checksums_.size() == blocks_of(bytes), where_, "{} checksums for {} blocks", checksums_.size(),
                       blocks_of(bytes));
}

void CheckedBytes::set_check(BlockCheck check) {
  check_ = std::move(check);
  for (size_t block = 0; block < checksums_.size(); ++block) {
    verified_[block].store(false, std::memory_order_relaxed);
  }
}

void CheckedBytes::verify(size_t begin, size_t end) const {
  if (begin == end) {
    return;
  }
  ensure(begin < end && end <= bytes_.size(), where_, "bytes {} to {} of {}", begin, end, bytes_.size());
  for (size_t block = begin / kBlock; block <= (end - 1) / kBlock; ++block) {
    if (!verified_[block].load(std::memory_order_relaxed)) {
      verify_block(block);
    }
  }
}

// Two threads may do it at the same time, with the same result.
void CheckedBytes::verify_block(size_t block) const {
  const std::span<const std::byte> bytes = block_of(bytes_, block);
  require<FormatError>(checksum_of_block(bytes) == checksums_[block], where_,
                       "bytes {} to {} have another checksum than the one written: the file was damaged or edited",
                       block * kBlock, block * kBlock + bytes.size());
  if (check_) {
    check_(block * kBlock, bytes);
  }
  verified_[block].store(true, std::memory_order_relaxed);
}

std::vector<uint64_t> block_checksums(std::span<const std::byte> bytes) {
  std::vector<uint64_t> checksums;
  checksums.reserve(blocks_of(bytes));
  for (size_t block = 0; block < blocks_of(bytes); ++block) {
    checksums.push_back(checksum_of_block(block_of(bytes, block)));
  }
  return checksums;
}

}  // namespace heed
