// What all calls of a backend share: the device's queue, its memory, and what is kept there between calls.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "heed_cuda/device/queue.h"
#include "tensor/arena.h"
#include "tensor/segments.h"
#include "tensor/tensor.h"

namespace heed::cuda {

// The device's memory for arenas.
class DeviceMemory final : public MemorySource {
 public:
  explicit DeviceMemory(Queue& queue) : queue_(queue) {}

  Device device() const override { return Device::cuda; }
  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* address) noexcept override;
  [[noreturn]] void refuse(int64_t bytes, int64_t in_use) const override;

 private:
  Queue& queue_;
};

// Copies of small arrays of the host, such as where sequences begin: what was uploaded lately is found by its contents.
class UploadedArrays {
 public:
  explicit UploadedArrays(Queue& queue) : queue_(queue) {}
  ~UploadedArrays();
  UploadedArrays(const UploadedArrays&) = delete;
  UploadedArrays& operator=(const UploadedArrays&) = delete;

  // Valid until kKept other arrays were asked for.
  const void* get(std::span<const std::byte> bytes);

  static constexpr size_t kKept = 64;

 private:
  struct Entry {
    std::vector<std::byte> bytes;
    void* address = nullptr;
    int64_t capacity = 0;
    uint64_t used = 0;
  };

  Queue& queue_;
  std::vector<Entry> entries_;
  uint64_t uses_ = 0;
};

// Where the sequences of a ragged batch begin and end, for kernels.
struct DeviceSegments {
  const int64_t* offsets = nullptr;  // count + 1
  int64_t count = 0, rows = 0, max_length = 0;
};

class Products;  // kernels/library_product.h

struct Context {
  Context(Queue& of_device, Arena& memory_of_calls);
  ~Context();

  template <class T>
  const T* uploaded(std::span<const T> values) {
    return static_cast<const T*>(arrays.get(std::as_bytes(values)));
  }
  DeviceSegments segments(const Segments& segments);

  Queue& queue;
  Arena& arena;  // for results of calls and what they need in between
  UploadedArrays arrays;
  std::unique_ptr<Products> products;
};

}  // namespace heed::cuda
