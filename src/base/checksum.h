// A checksum of bytes, such as a file's tensors, to detect files that were damaged or edited; fast enough to be
// computed at every load. It does not stop an attacker.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace heed {

// docs/models/formats.md has the formula.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    add(bytes, [](std::span<const std::byte>) {});
  }
  // Calls read(part) for each part that has been read, but not for the last bytes of less than a block.
  void add(std::span<const std::byte> bytes, const std::function<void(std::span<const std::byte>)>& read);
  // The same for bytes that arrive in parts: after end_parts() the value is that of all parts put together.
  void add_part(std::span<const std::byte> part);
  void end_parts();
  uint64_t value() const;
  std::string text() const;  // the value as 16 hexadecimal digits

 private:
  static constexpr size_t kLanes = 8;
  static constexpr size_t kBlock = kLanes * sizeof(uint64_t);
  void add_blocks(const std::byte* from, size_t blocks);
  void add_rest(std::span<const std::byte> rest, size_t size);

  std::array<uint64_t, kLanes> lanes_{};
  std::array<std::byte, kBlock> block_{};  // the block that the parts so far have begun
  size_t part_bytes_ = 0;                  // of all parts so far
};

}  // namespace heed
