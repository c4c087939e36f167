// Bytes of a mapped file that are checked when they are first read: a file of any size opens at once, and what was
// damaged or edited is noticed before it is used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heed {

class CheckedBytes {
 public:
  static constexpr size_t kBlock = size_t{1} << 16;  // each block has a checksum; the last one may be shorter

  // What else must hold for a block whose checksum is right; `begin` is the offset of its first byte. Throws
  // FormatError.
  using BlockCheck = std::function<void(size_t begin, std::span<const std::byte> block)>;

  // `owner` keeps the bytes mapped; `where` names them in messages. FormatError unless there is a checksum for each
  // block.
  CheckedBytes(std::span<const std::byte> bytes, std::vector<uint64_t> checksums, std::shared_ptr<const void> owner,
               std::string where);

  // Blocks that were read already are checked again.
  void set_check(BlockCheck check);

  // FormatError when a block that holds some of the bytes [begin, end) is damaged. Several threads may call it.
  void verify(size_t begin, size_t end) const;

  const std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  const std::string& where() const { return where_; }

 private:
  void verify_block(size_t block) const;

  std::span<const std::byte> bytes_;
  std::vector<uint64_t> checksums_;
  std::shared_ptr<const void> owner_;
  std::string where_;
  BlockCheck check_;
  std::unique_ptr<std::atomic<bool>[]> verified_;  // by block
};

// The checksum of each block, for such a file's writer.
std::vector<uint64_t> block_checksums(std::span<const std::byte> bytes);

}  // namespace heed
