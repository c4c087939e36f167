// A set of hashes for corpora of many millions of lines: two to four words an entry, where the standard library's takes a
// node, its allocation and a bucket.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"

namespace heed {

class HashSet {
 public:
  // False when it is there already. Linear probing in a power of two that is at least half empty; 0 marks a free place.
  bool insert(uint64_t hash) {
    hash += hash == 0 ? 1 : 0;
    if (2 * (size_ + 1) > places_.size()) {
      grow();
    }
    const bool added = place(hash);
    size_ += added ? 1 : 0;
    return added;
  }

 private:
  bool place(uint64_t hash) {
    const uint64_t mask = places_.size() - 1;
    uint64_t at = mix_bits(hash) & mask;
    while (places_[at] != 0 && places_[at] != hash) {
      at = (at + 1) & mask;
    }
    return std::exchange(places_[at], hash) == 0;
  }

  void grow() {
    const std::vector<uint64_t> old = std::exchange(places_, std::vector<uint64_t>(2 * places_.size()));
    for (const uint64_t hash : old) {
      if (hash != 0) {
        place(hash);
      }
    }
  }

  std::vector<uint64_t> places_ = std::vector<uint64_t>(1024);
  uint64_t size_ = 0;
};

}  // namespace heed
