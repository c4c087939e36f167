#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/errors.h"
#include "interchange/archive/block_values.h"
#include "interchange/archive/tensor_archive.h"
#include "tensor/float16.h"

namespace heed {
namespace {

// Sign, 4 or 5 bits of exponent, the rest of mantissa; e4m3 has no infinities, and NaN alone in its last exponent.
float from_eight_bits(uint8_t bits, ForeignType type) {
  const int mantissa_bits = type == ForeignType::f8_e4m3 ? 3 : 2;
  const int exponent_bits = 7 - mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int magnitude = bits & 0x7f, exponent = magnitude >> mantissa_bits;
  const int mantissa = magnitude & ((1 << mantissa_bits) - 1);
  float x = exponent == 0
                ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                : std::ldexp(static_cast<float>(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
  if (type == ForeignType::f8_e4m3 ? magnitude == 0x7f : exponent == 31) {
    x = type == ForeignType::f8_e5m2 && mantissa == 0 ? INFINITY : NAN;
  }
  return (bits & 0x80U) != 0 ? -x : x;
}

// Elements that are copied first, since they are not aligned, in pieces whose size the compiler knows.
template <class Element, class Widen>
void widen(const std::byte* from, std::span<float> to, Widen&& value) {
  constexpr size_t kPiece = 256;
  std::array<Element, kPiece> piece{};
  while (to.size() >= kPiece) {
    std::memcpy(piece.data(), from, sizeof piece);
    for (size_t i = 0; i < kPiece; ++i) {
      to[i] = value(piece[i]);
    }
    from += sizeof piece;
    to = to.subspan(kPiece);
  }
  std::memcpy(piece.data(), from, to.size() * sizeof(Element));
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = value(piece[i]);
  }
}

template <class Element>
void cast(const std::byte* from, std::span<float> to) {
  widen<Element>(from, to, [](Element x) { return static_cast<float>(x); });
}

// `from` is the first element's.
void read_elements(ForeignType type, const std::byte* from, std::span<float> to) {
  switch (type) {
    case ForeignType::f32:
      std::memcpy(to.data(), from, to.size_bytes());
      return;
    case ForeignType::bf16:
      return widen<uint16_t>(from, to, widened_bf16);
    case ForeignType::f16:
      return widen<uint16_t>(from, to, widened_half);
    case ForeignType::f64:
      return cast<double>(from, to);
    case ForeignType::f8_e4m3:
    case ForeignType::f8_e5m2:
      return widen<uint8_t>(from, to, [type](uint8_t bits) { return from_eight_bits(bits, type); });
    case ForeignType::boolean:
      return widen<uint8_t>(from, to, [](uint8_t x) { return x == 0 ? 0.0F : 1.0F; });
    case ForeignType::u8:
      return cast<uint8_t>(from, to);
    case ForeignType::i8:
      return cast<int8_t>(from, to);
    case ForeignType::u16:
      return cast<uint16_t>(from, to);
    case ForeignType::i16:
      return cast<int16_t>(from, to);
    case ForeignType::u32:
      return cast<uint32_t>(from, to);
    case ForeignType::i32:
      return cast<int32_t>(from, to);
    case ForeignType::u64:
      return cast<uint64_t>(from, to);
    case ForeignType::i64:
      return cast<int64_t>(from, to);
    default:
      return;  // blocks
  }
}

void read_from_blocks(const ArchiveTensor& tensor, int64_t first, std::span<float> to) {
  const BlockSize size = block_of(tensor.type);
  std::array<float, 256> block{};
  while (!to.empty()) {
    const std::byte* const from = tensor.bytes.data() + first / size.elements * size.bytes;
    const int64_t skipped = first % size.elements, left = static_cast<int64_t>(to.size());
    int64_t taken = left / size.elements * size.elements;
    if (skipped == 0 && taken > 0) {
      read_blocks(tensor.type, from, taken / size.elements, to.data());
    } else {
      read_blocks(tensor.type, from, 1, block.data());
      taken = std::min(size.elements - skipped, left);
      std::copy_n(block.data() + skipped, taken, to.data());
    }
    first += taken;
    to = to.subspan(static_cast<size_t>(taken));
  }
}

float divisor_at(std::span<const std::byte> divisors, int64_t index) {
  float divisor = 0.0F;
  std::memcpy(&divisor, divisors.data() + static_cast<size_t>(index) * sizeof divisor, sizeof divisor);
  return divisor;
}

void divide(const ArchiveTensor& tensor, int64_t first, std::span<float> values) {
  const auto divisors = static_cast<int64_t>(tensor.divisors.size() / sizeof(float));
  const int64_t run = tensor.elements() / divisors;  // elements that share a divisor
  while (!values.empty()) {
    const float divisor = divisor_at(tensor.divisors, first / run);
    const int64_t count = std::min(run - first % run, static_cast<int64_t>(values.size()));
    for (float& x : values.first(static_cast<size_t>(count))) {
      x /= divisor;
    }
    first += count;
    values = values.subspan(static_cast<size_t>(count));
  }
}

}  // namespace

void read_floats(const ArchiveTensor& tensor, int64_t first, std::span<float> to) {
  const int64_t elements = tensor.elements();
  require(first >= 0 && first <= elements && static_cast<int64_t>(to.size()) <= elements - first, tensor.name,
          "elements from {}, {} of them, of {}", first, to.size(), elements);
  if (to.empty()) {
    return;
  }
  if (is_block(tensor.type)) {
    read_from_blocks(tensor, first, to);
  } else {
    read_elements(tensor.type, tensor.bytes.data() + first * block_of(tensor.type).bytes, to);
  }
  if (!tensor.divisors.empty()) {
    divide(tensor, first, to);
  }
}

std::vector<float> read_floats(const ArchiveTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  read_floats(tensor, 0, values);
  return values;
}

}  // namespace heed
