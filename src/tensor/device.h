// Where memory is, and what else than the host's an arena can hold.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

enum class Device : uint8_t { cpu, cuda };

// Memory of a device, by the range.
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  virtual Device device() const = 0;
  // Aligned to 256 bytes at least; contents undefined. Null where there is no more.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void release(std::byte* address) noexcept = 0;
  // Throws DeviceError, which says what was asked for beside `in_use` bytes.
  [[noreturn]] virtual void refuse(int64_t bytes, int64_t in_use) const = 0;
};

}  // namespace heed
