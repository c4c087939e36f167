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

inline uint64_t next_sum(uint64_t sum, const std::byte* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return std::rotl(sum + word * kOfWords, 31) * kOfSums;
}

constexpr size_t kPart = size_t{4} << 20;  // bytes between two calls of `read`; whole blocks

}  // namespace

// The sums are in registers meanwhile: eight chains of multiplications that wait only for themselves.
void Checksum::add_blocks(const std::byte* from, size_t blocks) {
  auto [a, b, c, d, e, f, g, h] = lanes_;
  for (; blocks > 0; --blocks, from += kBlock) {
    a = next_sum(a, from);
    b = next_sum(b, from + 8);
    c = next_sum(c, from + 16);
    d = next_sum(d, from + 24);
    e = next_sum(e, from + 32);
    f = next_sum(f, from + 40);
    g = next_sum(g, from + 48);
    h = next_sum(h, from + 56);
  }
  lanes_ = {a, b, c, d, e, f, g, h};
}

void Checksum::add(std::span<const std::byte> tensor, const std::function<void(std::span<const std::byte>)>& read) {
  const size_t whole = tensor.size() / kBlock * kBlock;
  size_t done = 0;
  while (done < whole) {
    const size_t begin = done, end = std::min(whole, done + kPart);
    add_blocks(tensor.data() + begin, (end - begin) / kBlock);
    done = end;
    read(tensor.subspan(begin, end - begin));
  }
  add_rest(tensor.subspan(done), tensor.size());
}

// The rest is padded with zeros, and the length added, so that zeros at the end count.
void Checksum::add_rest(std::span<const std::byte> rest, size_t size) {
  std::array<std::byte, kBlock> block{};
  std::ranges::copy(rest, block.begin());
  add_blocks(block.data(), 1);
  lanes_[0] ^= mix_bits(size + 1);
}

void Checksum::add_part(std::span<const std::byte> part) {
  const size_t begun = part_bytes_ % kBlock;
  part_bytes_ += part.size();
  if (begun > 0) {
    const std::span<const std::byte> first = part.first(std::min(part.size(), kBlock - begun));
    std::ranges::copy(first, block_.begin() + static_cast<std::ptrdiff_t>(begun));
    part = part.subspan(first.size());
    if (begun + first.size() < kBlock) {
      return;
    }
    add_blocks(block_.data(), 1);
  }
  const size_t blocks = part.size() / kBlock;
  add_blocks(part.data(), blocks);
  std::ranges::copy(part.subspan(blocks * kBlock), block_.begin());
}

void Checksum::end_parts() {
  add_rest(std::span(block_).first(part_bytes_ % kBlock), part_bytes_);
  part_bytes_ = 0;
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
