#include "heed_cuda/context.h"

#include <algorithm>
#include <cstring>

#include "base/errors.h"
#include "base/rounding.h"
#include "heed_cuda/kernels/product/library_product.h"

namespace heed::cuda {
namespace {

constexpr int64_t kPage = 4096;

}  // namespace

std::byte* DeviceMemory::allocate(int64_t bytes) { return static_cast<std::byte*>(queue_.allocate(bytes)); }

void DeviceMemory::release(std::byte* address) noexcept { queue_.release(address); }

void DeviceMemory::refuse(int64_t bytes, int64_t in_use) const {
  fail<DeviceError>("cuda",
                    "{} has no more memory: {} bytes were asked for beside {} in use, {} are free; smaller batches or "
                    "recomputed layers need less",
                    queue_.facts().name, bytes, in_use, queue_.free_bytes());
}

UploadedArrays::~UploadedArrays() {
  for (const Entry& entry : entries_) {
    queue_.release(entry.address);
  }
}

const void* UploadedArrays::get(std::span<const std::byte> bytes) {
  const auto same = [&](const Entry& entry) { return std::ranges::equal(entry.bytes, bytes); };
  auto found = std::ranges::find_if(entries_, same);
  if (found == entries_.end()) {
    const auto size = static_cast<int64_t>(bytes.size());
    if (entries_.size() < kKept) {
      found = entries_.emplace(entries_.end());
    } else {
      found = std::ranges::min_element(entries_, {}, &Entry::used);
    }
    if (found->capacity < size) {
      if (found->address != nullptr) {
        queue_.release(found->address);
      }
      const int64_t capacity = round_up(std::max<int64_t>(size, 1), kPage);
      found->address = queue_.allocate(capacity);
      found->capacity = found->address == nullptr ? 0 : capacity;
      require<DeviceError>(found->address != nullptr, "cuda", "the device has no more memory for {} bytes", size);
    }
    found->bytes.clear();  // until the new ones are there
    queue_.upload(bytes.data(), found->address, {1, size, size, size});
    found->bytes.assign(bytes.begin(), bytes.end());
  }
  found->used = ++uses_;
  return found->address;
}

Context::Context(Queue& of_device, Arena& memory_of_calls)
    : queue(of_device), arena(memory_of_calls), arrays(queue), products(Products::make(queue)) {}

Context::~Context() = default;

DeviceSegments Context::segments(const Segments& segments) {
  return {uploaded<int64_t>(segments.offsets()), segments.count(), segments.rows(), segments.max_length()};
}

}  // namespace heed::cuda
