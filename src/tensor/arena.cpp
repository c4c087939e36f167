#include "tensor/arena.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/errors.h"
#include "base/rounding.h"
#include "base/system/pages.h"

namespace heed {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kDeviceAlignment = 256;
constexpr int64_t kLargePage = int64_t{2} << 20;
constexpr int64_t kWritable = int64_t{1} << 28;  // where hosts write indices without backing; takes what is written
constexpr int64_t kMost = int64_t{1} << 46;      // no system has so many addresses

// Where an arena's first range should begin, so that it can grow in place: arenas begin far apart, below what the
// system has given out by itself. This is advice, which the system need not take.
std::byte* distant_address() {
  constexpr uintptr_t kApart = uintptr_t{256} << 30;
  constexpr uintptr_t kArenas = 128;
  static const uintptr_t kHighest = reinterpret_cast<uintptr_t>(next_free_page()) / kLargePage * kLargePage;
  static std::atomic<uintptr_t> arenas{0};
  const uintptr_t distance = (arenas.fetch_add(1) % kArenas + 1) * kApart;
  return distance + kApart < kHighest ? reinterpret_cast<std::byte*>(kHighest - distance) : nullptr;
}

// Whole pages: large ones where they hold a quarter at least.
int64_t whole_pages(int64_t bytes) {
  return round_up(bytes, bytes < kLargePage / 4 ? static_cast<int64_t>(page_bytes()) : kLargePage);
}

}  // namespace

Arena::Arena(Backing backing) : backing_(backing) {
  if (backing == Backing::none) {
    prepare_return();
    require<MemoryError>(add_range(kWritable), "memory", "the system refused {} bytes", kWritable);
  }
}

Arena::Arena(MemorySource& source) : backing_(Backing::memory), source_(&source) {}

Arena::~Arena() {
  for (const Range& range : ranges_) {
    if (source_ != nullptr) {
      source_->release(range.address);
      continue;
    }
    unmap_pages(range.address, static_cast<size_t>(range.bytes));
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

std::unique_lock<std::mutex> Arena::locked() const {
  return source_ != nullptr ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

Arena::Block Arena::allocate(int64_t bytes) {
  ensure(bytes >= 0, "arena", "a block of {} bytes", bytes);
  Block block;
  if (bytes == 0) {
    return block;
  }
  require<MemoryError>(bytes <= kMost || backing_ == Backing::none, "memory",
                       "a block of {} bytes, more than can be addressed", bytes);
  const std::unique_lock lock = locked();
  prepare_return();
  block.bytes_ = round_up(bytes, source_ != nullptr ? kDeviceAlignment : kAlignment);
  block.address_ = take(block.bytes_);
  block.arena_ = this;
  ++blocks_;
  in_use_ += block.bytes_;
  peak_ = std::max(peak_, in_use_);
  if (backing_ == Backing::memory) {
    note_use(block);
  }
  return block;
}

void Arena::note_use(const Block& block) {
  const Range& last = ranges_.back();
  std::byte* const end = block.address_ + block.bytes_;
  if (end > last.address && end <= last.address + last.bytes) {
    used_ = std::max(used_, end - last.address);
  }
}

std::byte* Arena::take(int64_t bytes) {
  if (backing_ == Backing::none) {
    return ranges_.front().address;
  }
  const auto fits = [bytes](const auto& hole) { return hole.second >= bytes; };
  auto hole = std::ranges::find_if(free_, fits);
  if (hole == free_.end()) {
    grow_for(bytes);
    hole = std::ranges::find_if(free_, fits);
  }
  std::byte* const address = hole->first;
  Hole rest = free_.extract(hole);
  rest.mapped() -= bytes;
  if (rest.mapped() > 0) {
    rest.key() += bytes;
    free_.insert(std::move(rest));
  } else {
    keep(std::move(rest));
  }
  return address;
}

// For the block that is about to be taken, and for a range that may have to be added for it.
void Arena::prepare_return() {
  while (spare_.size() < blocks_ + 2) {
    Holes one{{nullptr, 0}};
    spare_.push_back(one.extract(one.begin()));
  }
}

void Arena::keep(Hole&& hole) {
  if (spare_.size() < spare_.capacity()) {
    spare_.push_back(std::move(hole));
  }
}

void Arena::grow_for(int64_t bytes) {
  int64_t held = 0, at_end = 0;
  for (const Range& range : ranges_) {
    held += range.bytes;
  }
  if (!ranges_.empty()) {
    const auto next = free_.upper_bound(ranges_.back().address + ranges_.back().bytes - 1);
    if (next != free_.begin()) {
      const auto [address, size] = *std::prev(next);
      at_end = address + size == ranges_.back().address + ranges_.back().bytes ? size : 0;
    }
  }
  // The quarter is a convenience; what is needed is not.
  const int64_t ahead = held / 4, missing = bytes - at_end;
  const bool grown = extend(whole_pages(std::max(missing, ahead))) || extend(whole_pages(missing)) ||
                     add_range(whole_pages(std::max(bytes, ahead))) || add_range(whole_pages(bytes));
  if (!grown && source_ != nullptr) {
    source_->refuse(whole_pages(missing), in_use_);
  }
  require<MemoryError>(grown, "memory", "the system refused {} more bytes beside {} in use", whole_pages(missing),
                       in_use_);
}

bool Arena::extend(int64_t bytes) {
  if (ranges_.empty() || source_ != nullptr) {
    return false;
  }
  std::byte* const end = ranges_.back().address + ranges_.back().bytes;
  std::byte* const address = map_pages(static_cast<size_t>(bytes), end);
  if (address != nullptr && address != end) {
    unmap_pages(address, static_cast<size_t>(bytes));
  }
  if (address != end) {
    return false;
  }
  ranges_.back().bytes += bytes;
  add_free(address, bytes);
  return true;
}

bool Arena::add_range(int64_t bytes) {
  // A device's ranges may be neighbours, but no block may lie in two of them: a gap stays between them.
  std::byte* const address = source_ != nullptr ? source_->allocate(bytes + kDeviceAlignment)
                                                : map_pages(static_cast<size_t>(bytes), distant_address());
  if (address == nullptr) {
    return false;
  }
  former_bytes_ += ranges_.empty() ? 0 : ranges_.back().bytes;
  used_ = 0;
  ranges_.push_back({address, bytes});
  add_free(address, bytes);
  return true;
}

void Arena::give_back(std::byte* address, int64_t bytes) {
  const std::unique_lock lock = locked();
  in_use_ -= bytes;
  --blocks_;
  if (backing_ == Backing::memory) {
    add_free(address, bytes);
  }
}

void Arena::add_free(std::byte* address, int64_t bytes) {
  const auto next = free_.lower_bound(address);
  const auto previous = next == free_.begin() ? free_.end() : std::prev(next);
  const bool joins_next = next != free_.end() && address + bytes == next->first;
  if (previous != free_.end() && previous->first + previous->second == address) {
    previous->second += bytes;
    if (joins_next) {
      previous->second += next->second;
      keep(free_.extract(next));
    }
    return;
  }
  Hole hole = joins_next ? free_.extract(next) : std::move(spare_.back());
  if (joins_next) {
    bytes += hole.mapped();
  } else {
    spare_.pop_back();
  }
  hole.key() = address;
  hole.mapped() = bytes;
  free_.insert(std::move(hole));
}

}  // namespace heed
