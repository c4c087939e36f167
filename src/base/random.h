// Counter-based random numbers: a draw is a hash of where it is used, so replaying a computation, or splitting it
// differently, changes no draw, and no mask is ever stored.
#pragma once

#include <cstdint>
#include <string_view>

namespace heed {

// Names a stream of draws. Keys are derived: seed -> update -> parameter path -> invocation.
struct RandomKey {
  uint64_t bits = 0;

  RandomKey derive(uint64_t number) const;
  RandomKey derive(std::string_view name) const;
  bool operator==(const RandomKey&) const = default;
};

// The hash of every draw (splitmix64's finalizer): bijective, each input bit reaches each output bit.
constexpr uint64_t mix_bits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return x;
}

// One row's draws; `row` is the row's index in the whole batch. Column c of the row draws from hash(c).
struct RowRandom {
  uint32_t first = 0, second = 0;

  RowRandom() = default;
  constexpr RowRandom(RandomKey key, uint64_t row) {
    const uint64_t mixed = mix_bits(key.bits ^ mix_bits(row + 0x9e3779b97f4a7c15ULL));
    first = static_cast<uint32_t>(mixed);
    second = static_cast<uint32_t>(mixed >> 32);
  }

  // 32 bits; each half is one 16-bit draw: the lower for column 2 * pair, the upper for column 2 * pair + 1.
  // Two multiply-xorshift rounds with the row's key entering before each; vector kernels repeat it lane by lane.
  constexpr uint32_t hash(uint32_t pair) const {
    uint32_t x = pair ^ first;
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x += second;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
  }

  // Uniform in [0, 65536).
  constexpr uint32_t draw16(uint32_t column) const { return (hash(column >> 1) >> (16 * (column & 1))) & 0xffffU; }
};

// Uniform in [0, 1) with 53 bits, and standard normal, for initialization: draw number `index` of the stream `key`.
double uniform_draw(RandomKey key, uint64_t index);
double normal_draw(RandomKey key, uint64_t index);

}  // namespace heed
