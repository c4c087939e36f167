// Memory for a step's activations and gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tensor/device.h"

namespace heed {

// none: blocks have a size and no memory of their own. All begin at one address, so that what is written to one is lost
// when another is. For counting what a step would need.
enum class Backing : uint8_t { memory, none };

// A first-fit allocator over memory that grows as it is used: by a quarter at least, in place where the addresses
// behind it are free, else by another range. Nothing is reserved ahead, so limits of the address space and systems that
// count reservations see what is used. A device's memory comes from a MemorySource, in ranges. The memory is kept
// between steps: once the largest batch has been seen, a step asks the system for nothing. Forward allocates in order
// and backward releases in reverse, so the blocks behave like a stack, while gradients fill the holes. An arena of a
// device is thread-safe; one of the host is not: it belongs to one pass.
class Arena {
 public:
  explicit Arena(Backing backing = Backing::memory);
  explicit Arena(MemorySource& source);  // which must outlive it
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Owns one block and returns it when it dies. The arena must outlive it.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept;
    ~Block() { release(); }

    std::byte* address() const { return address_; }
    int64_t bytes() const { return bytes_; }

   private:
    friend class Arena;
    void release();

    Arena* arena_ = nullptr;
    std::byte* address_ = nullptr;
    int64_t bytes_ = 0;
  };

  // 64-byte aligned, on a device 256; contents undefined. Zero bytes give an empty block. IoError when the system has
  // no more memory, DeviceError when the device has none.
  Block allocate(int64_t bytes);

  Device device() const { return source_ != nullptr ? source_->device() : Device::cpu; }
  int64_t bytes_in_use() const { return in_use_; }
  int64_t peak_bytes() const { return peak_; }
  int64_t extent() const { return former_bytes_ + used_; }  // addresses used so far, but for gaps between ranges

 private:
  struct Range {
    std::byte* address;
    int64_t bytes;
  };
  using Holes = std::map<std::byte*, int64_t>;
  using Hole = Holes::node_type;

  std::unique_lock<std::mutex> locked() const;
  std::byte* take(int64_t bytes);
  void give_back(std::byte* address, int64_t bytes);
  void add_free(std::byte* address, int64_t bytes);
  void prepare_return();
  void keep(Hole&& hole);
  void grow_for(int64_t bytes);
  bool extend(int64_t bytes);
  bool add_range(int64_t bytes);
  void note_use(const Block& block);

  Backing backing_;
  MemorySource* source_ = nullptr;  // of a device; null for the host's memory
  mutable std::mutex mutex_;        // guards the rest where there is a source
  std::vector<Range> ranges_;       // the last one grows
  Holes free_;                      // by address, neighbours always merged
  std::vector<Hole> spare_;         // one for each block at least, so that its return needs no memory
  size_t blocks_ = 0;
  int64_t in_use_ = 0, peak_ = 0;
  int64_t former_bytes_ = 0;  // of all ranges but the last
  int64_t used_ = 0;          // of the last range, from its beginning
};

}  // namespace heed
