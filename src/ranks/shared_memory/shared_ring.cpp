#include "ranks/shared_memory/shared_ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/errors.h"
#include "base/rounding.h"

namespace heed {

// Each number is written by one side, so each has a cache line of its own. In memory of zeros, a ring is free.
struct SharedRingHead {
  alignas(64) std::atomic<int64_t> tag_plus_one;
  alignas(64) std::atomic<uint64_t> filled;  // slots, ever
  alignas(64) std::atomic<uint64_t> emptied;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

namespace {

constexpr size_t kLargestPage = size_t{64} << 10;  // ARM's systems have 4, 16 or 64 KiB
constexpr size_t kHeadBytes = round_up(SharedSection::kRings * sizeof(SharedRingHead), kLargestPage);
static_assert(SharedSection::kSlotBytes % kLargestPage == 0);

}  // namespace

std::optional<SharedFile> SharedFile::create(size_t bytes) {
  SharedFile file(memfd_create("heed-ranks", MFD_CLOEXEC));
  if (file.number_ < 0 || ftruncate(file.number_, static_cast<off_t>(bytes)) != 0) {
    return std::nullopt;
  }
  return file;
}

std::optional<SharedFile> SharedFile::open(const std::string& address) {
  SharedFile file(::open(address.c_str(), O_RDWR | O_CLOEXEC));
  return file.number_ < 0 ? std::nullopt : std::optional(std::move(file));
}

SharedFile::SharedFile(SharedFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

SharedFile::~SharedFile() {
  if (number_ >= 0) {
    close(number_);
  }
}

std::string SharedFile::address() const { return fmt::format("/proc/{}/fd/{}", getpid(), number_); }

std::byte* SharedRing::slot(uint64_t number) const {
  const size_t slots = slots_.size() / SharedSection::kSlotBytes;
  return slots_.data() + number % slots * SharedSection::kSlotBytes;
}

size_t SharedRing::put(std::span<const std::byte> bytes) {
  const size_t slots = slots_.size() / SharedSection::kSlotBytes;
  uint64_t filled = head_->filled.load(std::memory_order_relaxed);
  size_t done = 0;
  while (done < bytes.size() && filled - head_->emptied.load(std::memory_order_acquire) < slots) {
    const size_t part = std::min(SharedSection::kSlotBytes, bytes.size() - done);
    std::memcpy(slot(filled), bytes.data() + done, part);
    head_->filled.store(++filled, std::memory_order_release);
    done += part;
  }
  return done;
}

size_t SharedRing::take(std::span<std::byte> bytes) {
  uint64_t emptied = head_->emptied.load(std::memory_order_relaxed);
  size_t done = 0;
  while (done < bytes.size() && emptied < head_->filled.load(std::memory_order_acquire)) {
    const size_t part = std::min(SharedSection::kSlotBytes, bytes.size() - done);
    std::memcpy(bytes.data() + done, slot(emptied), part);
    head_->emptied.store(++emptied, std::memory_order_release);
    done += part;
  }
  return done;
}

void SharedSection::Unmap::operator()(void* memory) const { munmap(memory, bytes); }

size_t SharedSection::bytes(int slots) { return kHeadBytes + static_cast<size_t>(kRings * slots) * kSlotBytes; }

std::optional<SharedSection> SharedSection::map(const SharedFile& file, int index, int slots) {
  const auto offset = static_cast<off_t>(static_cast<size_t>(index) * bytes(slots));
  void* const memory = mmap(nullptr, bytes(slots), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), offset);
  return memory == MAP_FAILED ? std::nullopt : std::optional(SharedSection(memory, slots));
}

SharedSection::SharedSection(void* memory, int slots) : memory_(memory, Unmap{bytes(slots)}), slots_(slots) {}

SharedRingHead* SharedSection::heads() const { return static_cast<SharedRingHead*>(memory_.get()); }

SharedRing SharedSection::ring(int index) const {
  const size_t size = static_cast<size_t>(slots_) * kSlotBytes;
  auto* const first = static_cast<std::byte*>(memory_.get()) + kHeadBytes + static_cast<size_t>(index) * size;
  return {heads()[index], {first, size}};
}

std::optional<SharedRing> SharedSection::find_ring(int tag) {
  for (int i = 0; i < kRings; ++i) {
    if (heads()[i].tag_plus_one.load(std::memory_order_acquire) == int64_t{tag} + 1) {
      return ring(i);
    }
  }
  return std::nullopt;
}

std::optional<SharedRing> SharedSection::make_ring(int tag) {
  if (auto ring = find_ring(tag)) {
    return ring;
  }
  for (int i = 0; i < kRings; ++i) {
    if (heads()[i].tag_plus_one.load(std::memory_order_relaxed) == 0) {
      heads()[i].tag_plus_one.store(int64_t{tag} + 1, std::memory_order_release);
      return ring(i);
    }
  }
  return std::nullopt;
}

}  // namespace heed
