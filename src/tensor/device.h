// Where memory is, and memory of a device for arenas.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

enum class Device : uint8_t { cpu, cuda };

// Memory of a device, in ranges.
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  virtual Device device() const = 0;
  // Aligned to at least 256 bytes; contents undefined. Null when there is no more.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void release(std::byte* address) noexcept = 0;
  // Throws DeviceError, which says how many bytes were requested while `in_use` were in use.
  [[noreturn]] virtual void refuse(int64_t bytes, int64_t in_use) const = 0;
};

}  // namespace heed
