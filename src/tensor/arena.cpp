#include "tensor/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kSmallestRegion = int64_t{8} << 20;
constexpr int64_t kLargestBlock = int64_t{1} << 44;

int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

Arena::Arena() = default;

Arena::~Arena() {
  for (const Region& region : regions_) {
    munmap(region.address, static_cast<size_t>(region.bytes));
  }
}

Arena::Block& Arena::Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    release();
    arena_ = std::exchange(other.arena_, nullptr);
    address_ = std::exchange(other.address_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void Arena::Block::release() {
  if (arena_ != nullptr) {
    arena_->give_back(address_, bytes_);
    arena_ = nullptr;
  }
}

Arena::Block Arena::allocate(int64_t bytes) {
  ensure(bytes >= 0 && bytes < kLargestBlock, "arena", "a block of {} bytes", bytes);
  Block block;
  if (bytes == 0) {
    return block;
  }
  block.bytes_ = round_up(bytes, kAlignment);
  block.address_ = take(block.bytes_);
  if (block.address_ == nullptr) {
    grow(block.bytes_);
    block.address_ = take(block.bytes_);
  }
  block.arena_ = this;
  in_use_ += block.bytes_;
  peak_ = std::max(peak_, in_use_);
  return block;
}

int64_t Arena::reserved_bytes() const {
  int64_t bytes = 0;
  for (const Region& region : regions_) {
    bytes += region.bytes;
  }
  return bytes;
}

std::byte* Arena::take(int64_t bytes) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second >= bytes) {
      std::byte* const address = it->first;
      const int64_t rest = it->second - bytes;
      free_.erase(it);
      if (rest > 0) {
        free_.emplace(address + bytes, rest);
      }
      return address;
    }
  }
  return nullptr;
}

void Arena::give_back(std::byte* address, int64_t bytes) {
  in_use_ -= bytes;
  const auto same_region = [this](const std::byte* a, const std::byte* b) {
    return std::ranges::any_of(regions_, [&](const Region& region) {
      return a >= region.address && b >= region.address && a < region.address + region.bytes &&
             b < region.address + region.bytes;
    });
  };
  auto next = free_.lower_bound(address);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == address && same_region(previous->first, address)) {
      address = previous->first;
      bytes += previous->second;
      free_.erase(previous);
    }
  }
  if (next != free_.end() && address + bytes == next->first && same_region(address, next->first)) {
    bytes += next->second;
    free_.erase(next);
  }
  free_.emplace(address, bytes);
}

void Arena::grow(int64_t bytes) {
  // Each region at least half of all before it: few regions, little waste.
  const int64_t wanted = round_up(std::max({bytes, kSmallestRegion, reserved_bytes() / 2}), int64_t{2} << 20);
  void* const address =
      mmap(nullptr, static_cast<size_t>(wanted), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require<IoError>(address != MAP_FAILED, "memory", "the system refused {} more bytes ({} held)", wanted,
                   reserved_bytes());
  // Large pages save page faults and translation misses where the system grants them; a refusal costs nothing.
  madvise(address, static_cast<size_t>(wanted), MADV_HUGEPAGE);
  regions_.push_back({static_cast<std::byte*>(address), wanted});
  free_.emplace(static_cast<std::byte*>(address), wanted);
}

}  // namespace heed
