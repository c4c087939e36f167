// The order in which the keys and values of a range of queries with few rows are read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "kernels/cpu/attention/attention_plan.h"

namespace heed::cpu {

// Some keys or some values of a block. All heads of a share read theirs before any reads the next slice.
struct Slice {
  enum class Of : bool { keys, values };

  Of of;
  int64_t begin, end;  // counted in the range's class
};

// Block by block: the keys that any query sees, slice by slice, then their values. A row holds all heads, and the rows
// of successive tokens lie next to each other, so short slices are read almost in the order of memory. Each slice costs
// a call per head, so they are not too short.
class Slices {
 public:
  Slices() = default;  // none
  // row_bytes: what a share's heads read of a row.
  Slices(Visibility::Range seen, int64_t row_bytes)
      : seen_(seen), keys_(std::clamp(std::bit_floor(kBytes / static_cast<uint64_t>(row_bytes)), kFewest, kMost)) {}

  std::optional<Slice> first() const {
    return seen_.begin < seen_.end ? std::optional(at(Slice::Of::keys, seen_.begin)) : std::nullopt;
  }

  std::optional<Slice> after(const Slice& slice) const {
    if (slice.end < seen_of_block(slice.begin).end) {
      return at(slice.of, slice.end);
    }
    if (slice.of == Slice::Of::keys) {
      return at(Slice::Of::values, seen_of_block(slice.begin).begin);
    }
    return slice.end < seen_.end ? std::optional(at(Slice::Of::keys, slice.end)) : std::nullopt;
  }

  // What is seen of the block of a key.
  Visibility::Range seen_of_block(int64_t key) const {
    const int64_t first_key = key / kKeyBlock * kKeyBlock;
    return {std::max(seen_.begin, first_key), std::min(seen_.end, first_key + kKeyBlock)};
  }

  // Calls body(slice) for all slices of the block that begins with key `first_key`.
  template <class Body>
  void for_each(Slice::Of of, int64_t first_key, const Body& body) const {
    for (auto [begin, end] = seen_of_block(first_key); begin < end;) {
      const Slice slice = at(of, begin);
      body(slice);
      begin = slice.end;
    }
  }

 private:
  static constexpr uint64_t kBytes = 24 * 1024;
  static constexpr uint64_t kFewest = 16, kMost = kKeyBlock;  // keys; whole vectors of scores

  Slice at(Slice::Of of, int64_t begin) const {
    const int64_t keys = static_cast<int64_t>(keys_);
    return {of, begin, std::min(seen_of_block(begin).end, (begin / keys + 1) * keys)};
  }

  Visibility::Range seen_{0, 0};
  uint64_t keys_ = kMost;
};

}  // namespace heed::cpu
