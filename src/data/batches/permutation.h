// A pseudo-random permutation of [0, size) that is computed, not stored.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"

namespace heed {

// A Feistel network over the smallest grid of about sqrt(size) by sqrt(size) that holds the indices; a result outside
// of them goes through it again. Each index is computed without the others, so a pool is rebuilt without the rest of
// its epoch.
class Permutation {
 public:
  // Up to 2^62 indices.
  Permutation(RandomKey key, int64_t size);

  int64_t size() const { return static_cast<int64_t>(size_); }
  int64_t operator()(int64_t index) const {
    uint64_t x = static_cast<uint64_t>(index);
    do {
      x = step(x);
    } while (x >= size_);
    return static_cast<int64_t>(x);
  }

 private:
  static constexpr size_t kRounds = 12;

  uint64_t step(uint64_t x) const {
    uint64_t row = x / columns_, column = x % columns_;
    for (size_t round = 0; round < kRounds; round += 2) {
      row = add(row, rows_, column, keys_[round]);
      column = add(column, columns_, row, keys_[round + 1]);
    }
    return row * columns_ + column;
  }

  // a + hash(other) modulo bound: invertible while `other` is known.
  static uint64_t add(uint64_t a, uint64_t bound, uint64_t other, uint64_t key) {
    const uint64_t sum = a + (((mix_bits(key ^ other) >> 32) * bound) >> 32);
    return sum >= bound ? sum - bound : sum;
  }

  uint64_t size_, rows_ = 1, columns_ = 1;
  std::array<uint64_t, kRounds> keys_{};
};

}  // namespace heed
