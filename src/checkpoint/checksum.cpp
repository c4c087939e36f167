#include "checkpoint/checksum.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/random.h"

namespace heed {
namespace {

constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ULL;

}  // namespace

void Checksum::add_block(const std::byte* block) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    uint64_t word = 0;
    std::memcpy(&word, block + lane * sizeof word, sizeof word);
    lanes_[lane] = std::rotl(lanes_[lane] ^ word, 29) * kMultiplier;
  }
}

void Checksum::add(std::span<const std::byte> tensor) {
  size_t done = 0;
  for (; done + kBlock <= tensor.size(); done += kBlock) {
    add_block(tensor.data() + done);
  }
  // What is left, filled up with zeros, and the length, so that zeros at the end count.
  std::array<std::byte, kBlock> rest{};
  std::memcpy(rest.data(), tensor.data() + done, tensor.size() - done);
  add_block(rest.data());
  lanes_[0] ^= mix_bits(tensor.size());
}

std::string Checksum::text() const {
  uint64_t sum = 0;
  for (const uint64_t lane : lanes_) {
    sum = mix_bits(sum ^ lane);
  }
  return fmt::format("{:016x}", sum);
}

}  // namespace heed
