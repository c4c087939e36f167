#include "interchange/archive/block_values.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace heed {
namespace {

constexpr size_t kSmallBlock = 32, kLargeBlock = 256, kHalfBlock = kSmallBlock / 2;

using Nibbles = const uint8_t*;

float half_in_block(const uint8_t* from) {
  uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  return widened_half(half);
}

void read_q4_0(const uint8_t* from, float* to) {
  const float d = half_in_block(from);
  const Nibbles q = from + 2;
  for (size_t j = 0; j < kSmallBlock / 2; ++j) {
    to[j] = static_cast<float>((q[j] & 15) - 8) * d;
    to[j + kSmallBlock / 2] = static_cast<float>((q[j] >> 4) - 8) * d;
  }
}

void read_q4_1(const uint8_t* from, float* to) {
  const float d = half_in_block(from), m = half_in_block(from + 2);
  const Nibbles q = from + 4;
  for (size_t j = 0; j < kSmallBlock / 2; ++j) {
    to[j] = static_cast<float>(q[j] & 15) * d + m;
    to[j + kSmallBlock / 2] = static_cast<float>(q[j] >> 4) * d + m;
  }
}

// The fifth bits of a block's integers, and then their lower four.
std::array<int32_t, kSmallBlock> five_bits(const uint8_t* from) {
  uint32_t fifth = 0;
  std::memcpy(&fifth, from, sizeof fifth);
  const Nibbles q = from + sizeof fifth;
  std::array<int32_t, kSmallBlock> all{};
  for (size_t j = 0; j < kSmallBlock / 2; ++j) {
    all[j] = static_cast<int32_t>((q[j] & 15U) | (fifth >> j & 1U) << 4U);
    all[j + kSmallBlock / 2] = static_cast<int32_t>(q[j] >> 4U | (fifth >> (j + kSmallBlock / 2) & 1U) << 4U);
  }
  return all;
}

void read_q5_0(const uint8_t* from, float* to) {
  const float d = half_in_block(from);
  for (const int32_t q : five_bits(from + 2)) {
    *to++ = static_cast<float>(q - 16) * d;
  }
}

void read_q5_1(const uint8_t* from, float* to) {
  const float d = half_in_block(from), m = half_in_block(from + 2);
  for (const int32_t q : five_bits(from + 4)) {
    *to++ = static_cast<float>(q) * d + m;
  }
}

void read_q8_0(const uint8_t* from, float* to) {
  const float d = half_in_block(from);
  for (size_t j = 0; j < kSmallBlock; ++j) {
    to[j] = static_cast<float>(static_cast<int8_t>(from[2 + j])) * d;
  }
}

struct ScaleAndMinimum {
  float scale, minimum;
};

// Those of the j-th 32 values, of six bits each: of the first four in the lower bits of bytes j and j + 4; of the others
// the lower four bits are in byte j + 4, the upper two above the first four's.
ScaleAndMinimum six_bits(const uint8_t* from, size_t j) {
  if (j < 4) {
    return {static_cast<float>(from[j] & 63U), static_cast<float>(from[j + 4] & 63U)};
  }
  return {static_cast<float>((from[j + 4] & 15U) | from[j - 4] >> 6U << 4U),
          static_cast<float>(from[j + 4] >> 4U | from[j] >> 6U << 4U)};
}

constexpr size_t kSixBitBytes = 12;

void read_q4_k(const uint8_t* from, float* to) {
  const float d = half_in_block(from), dmin = half_in_block(from + 2);
  const uint8_t* const scales = from + 4;
  Nibbles q = scales + kSixBitBytes;
  for (size_t j = 0; j < kLargeBlock / kSmallBlock; ++j, to += kSmallBlock) {
    const auto [scale, minimum] = six_bits(scales, j);
    const float step = d * scale, offset = dmin * minimum;
    const unsigned shift = j % 2 == 0 ? 0 : 4;
    for (size_t l = 0; l < kSmallBlock; ++l) {
      to[l] = step * static_cast<float>(q[l] >> shift & 15U) - offset;
    }
    q += j % 2 == 0 ? 0 : kSmallBlock;
  }
}

void read_q5_k(const uint8_t* from, float* to) {
  const float d = half_in_block(from), dmin = half_in_block(from + 2);
  const uint8_t* const scales = from + 4;
  const uint8_t* const fifth = scales + kSixBitBytes;
  Nibbles q = fifth + kSmallBlock;
  for (size_t j = 0; j < kLargeBlock / kSmallBlock; ++j, to += kSmallBlock) {
    const auto [scale, minimum] = six_bits(scales, j);
    const float step = d * scale, offset = dmin * minimum;
    const unsigned shift = j % 2 == 0 ? 0 : 4;
    for (size_t l = 0; l < kSmallBlock; ++l) {
      const unsigned whole = (q[l] >> shift & 15U) | (fifth[l] >> j & 1U) << 4U;
      to[l] = step * static_cast<float>(whole) - offset;
    }
    q += j % 2 == 0 ? 0 : kSmallBlock;
  }
}

void read_q6_k(const uint8_t* from, float* to) {
  constexpr size_t kHalf = kLargeBlock / 2;
  const float d = half_in_block(from + kHalf + kHalf / 2 + 16);
  for (size_t half = 0; half < 2; ++half, to += kHalf) {
    const uint8_t* const lower = from + half * (kHalf / 2);
    const uint8_t* const upper = from + kHalf + half * (kHalf / 4);
    const uint8_t* const scales = from + kHalf + kHalf / 2 + half * 8;
    for (size_t l = 0; l < kHalf; ++l) {
      // Quarters of 32: the first two are the lower nibbles of 64 bytes, the others the upper ones; the quarters' upper
      // pairs of bits lie in the same 32 bytes, one above the other.
      const size_t quarter = l / kSmallBlock;
      const unsigned low = lower[l % (kHalf / 2)] >> (quarter < 2 ? 0U : 4U) & 15U;
      const unsigned high = upper[l % kSmallBlock] >> (2 * quarter) & 3U;
      const auto scale = static_cast<float>(static_cast<int8_t>(scales[l / 16]));
      to[l] = d * scale * static_cast<float>(static_cast<int32_t>(low | high << 4U) - 32);
    }
  }
}

using BlockReader = void (*)(const uint8_t*, float*);

BlockReader reader_of(ForeignType type) {
  switch (type) {
    case ForeignType::q4_0:
      return read_q4_0;
    case ForeignType::q4_1:
      return read_q4_1;
    case ForeignType::q5_0:
      return read_q5_0;
    case ForeignType::q5_1:
      return read_q5_1;
    case ForeignType::q4_k:
      return read_q4_k;
    case ForeignType::q5_k:
      return read_q5_k;
    case ForeignType::q6_k:
      return read_q6_k;
    default:
      return read_q8_0;
  }
}

// Value j of a block of q4_0, in which a byte has values j and j + 16.
unsigned value_of_q4_0(const std::byte* block, size_t j) {
  return j < kHalfBlock ? std::to_integer<unsigned>(block[j]) & 15U
                        : std::to_integer<unsigned>(block[j - kHalfBlock]) >> 4U;
}

// Value j where a byte has two neighbours.
unsigned value_of_neighbours(const std::byte* values, size_t j) {
  return std::to_integer<unsigned>(values[j / 2]) >> (4 * (j % 2)) & 15U;
}

std::byte* write_neighbours(const std::byte* block, std::byte* to) {
  for (size_t j = 0; j < kSmallBlock; j += 2) {
    *to++ = static_cast<std::byte>(value_of_q4_0(block, j) | value_of_q4_0(block, j + 1) << 4U);
  }
  return to;
}

}  // namespace

void read_blocks(ForeignType type, const std::byte* from, int64_t blocks, float* to) {
  const BlockReader read = reader_of(type);
  const BlockSize size = block_of(type);
  const auto* bytes = reinterpret_cast<const uint8_t*>(from);
  for (int64_t i = 0; i < blocks; ++i) {
    read(bytes, to);
    bytes += size.bytes;
    to += size.elements;
  }
}

void read_block_integers(ForeignType type, const std::byte* from, int64_t blocks, std::byte* to) {
  const int64_t size = block_of(type).bytes;
  for (int64_t i = 0; i < blocks; ++i, from += size) {
    const std::byte* const integers = from + sizeof(uint16_t);
    to = type == ForeignType::q8_0 ? std::copy_n(integers, kSmallBlock, to) : write_neighbours(integers, to);
  }
}

void read_block_scales(ForeignType type, const std::byte* from, int64_t blocks, std::byte* to) {
  const int64_t size = block_of(type).bytes;
  for (int64_t i = 0; i < blocks; ++i, from += size) {
    to = std::copy_n(from, sizeof(uint16_t), to);
  }
}

void write_block(ForeignType type, const std::byte* scale, const std::byte* integers, std::byte* to) {
  to = std::copy_n(scale, sizeof(uint16_t), to);
  if (type == ForeignType::q8_0) {
    std::copy_n(integers, kSmallBlock, to);
    return;
  }
  for (size_t j = 0; j < kHalfBlock; ++j) {
    *to++ =
        static_cast<std::byte>(value_of_neighbours(integers, j) | value_of_neighbours(integers, j + kHalfBlock) << 4U);
  }
}

}  // namespace heed
