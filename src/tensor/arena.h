// Memory for a step's activations and gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace heed {

// none: blocks have a size and no memory of their own. All begin at one address, so that what is written to one is lost
// when another is. For counting what a step would need.
enum class Backing : uint8_t { memory, none };

// A first-fit allocator over one reserved range of addresses. The system backs only what has been touched, and the
// range is kept between steps: once the largest batch has been seen, a step asks the system for nothing. Forward
// allocates in order and backward releases in reverse, so the blocks behave like a stack, while gradients fill the
// holes. Not thread-safe: one pass, one arena.
class Arena {
 public:
  explicit Arena(Backing backing = Backing::memory);
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

  // 64-byte aligned; contents undefined. Zero bytes give an empty block.
  Block allocate(int64_t bytes);

  int64_t bytes_in_use() const { return in_use_; }
  int64_t peak_bytes() const { return peak_; }
  int64_t extent() const { return extent_; }  // addresses used so far, from the first to the last

 private:
  std::byte* take(int64_t bytes);
  void give_back(std::byte* address, int64_t bytes);

  Backing backing_;
  std::byte* reserved_ = nullptr;
  int64_t reserved_bytes_ = 0;
  std::map<std::byte*, int64_t> free_;  // by address, neighbours always merged
  int64_t in_use_ = 0, peak_ = 0, extent_ = 0;
};

}  // namespace heed
