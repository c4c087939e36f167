#include "tensor/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/rounding.h"

namespace heed {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kMaxReserved = int64_t{1} << 40;  // addresses cost nothing until they are touched
constexpr int64_t kMinReserved = int64_t{1} << 30;

}  // namespace

Arena::Arena(Backing backing) : backing_(backing) {
  // A system that counts reservations as used memory grants only a smaller one.
  for (reserved_bytes_ = backing == Backing::none ? kMinReserved : kMaxReserved; reserved_bytes_ >= kMinReserved;
       reserved_bytes_ /= 2) {
    void* const address = mmap(nullptr, static_cast<size_t>(reserved_bytes_), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address != MAP_FAILED) {
      reserved_ = static_cast<std::byte*>(address);
      break;
    }
  }
  require<IoError>(reserved_ != nullptr, "memory", "the system refused to reserve {} bytes", kMinReserved);
  // Large pages save page faults and translation misses where the system grants them; a refusal costs nothing.
  madvise(reserved_, static_cast<size_t>(reserved_bytes_), MADV_HUGEPAGE);
  free_.emplace(reserved_, reserved_bytes_);
}

Arena::~Arena() { munmap(reserved_, static_cast<size_t>(reserved_bytes_)); }

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
  ensure(bytes >= 0, "arena", "a block of {} bytes", bytes);
  Block block;
  if (bytes == 0) {
    return block;
  }
  require<IoError>(bytes <= reserved_bytes_ || backing_ == Backing::none, "memory", "a block of {} bytes, of {} in all",
                   bytes, reserved_bytes_);
  block.bytes_ = round_up(bytes, kAlignment);
  block.address_ = take(block.bytes_);
  block.arena_ = this;
  in_use_ += block.bytes_;
  peak_ = std::max(peak_, in_use_);
  extent_ = std::max(extent_, block.address_ + block.bytes_ - reserved_);
  return block;
}

std::byte* Arena::take(int64_t bytes) {
  if (backing_ == Backing::none) {
    return reserved_;
  }
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
  fail<IoError>("memory", "no room for {} more bytes beside the {} in use", bytes, in_use_);
}

void Arena::give_back(std::byte* address, int64_t bytes) {
  in_use_ -= bytes;
  if (backing_ == Backing::none) {
    return;
  }
  auto next = free_.lower_bound(address);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == address) {
      address = previous->first;
      bytes += previous->second;
      free_.erase(previous);
    }
  }
  if (next != free_.end() && address + bytes == next->first) {
    bytes += next->second;
    free_.erase(next);
  }
  free_.emplace(address, bytes);
}

}  // namespace heed
