// A set of hashes for corpora of many millions of lines: two to four words per entry, where the standard library's
// takes a node, its allocation and a bucket.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"

namespace heed {

class HashSet {
 public:
  // False when it is there already. Linear probing in a power of two of slots, at least half of them empty; 0 marks an
  // empty slot.
  bool insert(uint64_t hash) {
    hash += hash == 0 ? 1 : 0;
    if (2 * (size_ + 1) > slots_.size()) {
      grow();
    }
    const bool added = insert_into_slots(hash);
    size_ += added ? 1 : 0;
    return added;
  }

 private:
  bool insert_into_slots(uint64_t hash) {
    const uint64_t mask = slots_.size() - 1;
    uint64_t at = mix_bits(hash) & mask;
    while (slots_[at] != 0 && slots_[at] != hash) {
      at = (at + 1) & mask;
    }
    return std::exchange(slots_[at], hash) == 0;
  }

  void grow() {
    const std::vector<uint64_t> old = std::exchange(slots_, std::vector<uint64_t>(2 * slots_.size()));
    for (const uint64_t hash : old) {
      if (hash != 0) {
        insert_into_slots(hash);
      }
    }
  }

  std::vector<uint64_t> slots_ = std::vector<uint64_t>(1024);
  uint64_t size_ = 0;
};

}  // namespace heed
