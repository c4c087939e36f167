#include "base/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/random.h"

namespace heed {
namespace {

// Odd, with random bits.
constexpr uint64_t kOfWords = 0x9e3779b97f4a7c15ULL;
constexpr uint64_t kOfSums = 0xc2b2ae3d27d4eb4fULL;

constexpr size_t kPart = size_t{4} << 20;  // bytes between two calls of `read`; whole blocks

}  // namespace

void Checksum::add_block(const std::byte* block) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    uint64_t word = 0;
    std::memcpy(&word, block + lane * sizeof word, sizeof word);
    lanes_[lane] = std::rotl(lanes_[lane] + word * kOfWords, 31) * kOfSums;
  }
}

void Checksum::add(std::span<const std::byte> tensor, const std::function<void(std::span<const std::byte>)>& read) {
  const size_t whole = tensor.size() / kBlock * kBlock;
  size_t done = 0;
  while (done < whole) {
    const size_t begin = done, end = std::min(whole, done + kPart);
    for (; done < end; done += kBlock) {
      add_block(tensor.data() + done);
    }
    read(tensor.subspan(begin, end - begin));
  }
  // The rest, padded with zeros, and the length, so that zeros at the end count.
  std::array<std::byte, kBlock> rest{};
  std::ranges::copy(tensor.subspan(done), rest.begin());
  add_block(rest.data());
  lanes_[0] ^= mix_bits(tensor.size() + 1);
}

uint64_t Checksum::value() const {
  uint64_t sum = 0;
  for (const uint64_t lane : lanes_) {
    sum = mix_bits(sum ^ lane);
  }
  return sum;
}

std::string Checksum::text() const { return fmt::format("{:016x}", value()); }

}  // namespace heed
