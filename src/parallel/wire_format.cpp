#include "parallel/wire_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/errors.h"
#include "base/rounding.h"

namespace heed {
namespace {

// The integers of a block, and how many bits each takes.
struct Blocks {
  int64_t length = 0, bits = 0;
  float largest = 0.0F;

  int64_t count(int64_t values) const { return ceil_div(values, length); }
  int64_t bytes(int64_t values) const { return ceil_div(values * bits, 8); }
};
constexpr Blocks kInt8{256, 8, 127.0F}, kInt4{64, 4, 7.0F};
constexpr int64_t kLongest = kInt8.length;

const Blocks& blocks_of(WireType type) { return type == WireType::int8 ? kInt8 : kInt4; }

// The size of a block's scale, which is not aligned.
constexpr int64_t kScaleBytes = sizeof(float);

using Numbers = std::array<int8_t, kLongest>;

void store(const Numbers& numbers, int64_t count, const Blocks& blocks, std::byte* bytes) {
  if (blocks.bits == 8) {
    std::memcpy(bytes, numbers.data(), static_cast<size_t>(count));
    return;
  }
  for (int64_t i = 0; i < count; i += 2) {
    const auto at = static_cast<size_t>(i);
    const int second = i + 1 < count ? numbers[at + 1] : 0;
    bytes[i / 2] = static_cast<std::byte>((numbers[at] & 15) | (second & 15) << 4);
  }
}

void load(const std::byte* bytes, int64_t count, const Blocks& blocks, Numbers& numbers) {
  if (blocks.bits == 8) {
    std::memcpy(numbers.data(), bytes, static_cast<size_t>(count));
    return;
  }
  for (int64_t i = 0; i < count; i += 2) {
    const auto both = std::to_integer<uint8_t>(bytes[i / 2]);
    const auto at = static_cast<size_t>(i);
    // The shift to the left and back extends the sign.
    numbers[at] = static_cast<int8_t>(static_cast<int8_t>(both << 4) >> 4);
    numbers[at + 1] = static_cast<int8_t>(static_cast<int8_t>(both) >> 4);
  }
}

// Returns the scale.
template <class T>
float round_block(const T* values, int64_t count, const Blocks& blocks, Numbers& numbers) {
  T largest = 0;
  bool is_finite = true;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(values[i]));
    is_finite &= std::isfinite(values[i]);
  }
  const float scale =
      is_finite ? static_cast<float>(largest) / blocks.largest : std::numeric_limits<float>::quiet_NaN();
  const float inverse = 1.0F / scale;
  // Not where all are zeros, or too small or too large for a scale.
  const bool is_scaled = std::isfinite(scale) && std::isfinite(inverse);
  for (int64_t i = 0; i < count; ++i) {
    const float rounded = is_scaled ? std::nearbyint(static_cast<float>(values[i]) * inverse) : 0.0F;
    numbers[static_cast<size_t>(i)] = static_cast<int8_t>(std::clamp(rounded, -blocks.largest, blocks.largest));
  }
  return scale;
}

template <class T>
void encode_blocks(const Blocks& blocks, const T* values, int64_t count, std::byte* bytes) {
  std::byte* const whole = bytes + blocks.count(count) * kScaleBytes;
  Numbers numbers;
  for (int64_t first = 0; first < count; first += blocks.length) {
    const int64_t length = std::min(blocks.length, count - first);
    const float scale = round_block(values + first, length, blocks, numbers);
    std::memcpy(bytes + first / blocks.length * kScaleBytes, &scale, sizeof scale);
    store(numbers, length, blocks, whole + blocks.bytes(first));
  }
}

template <class T>
void decode_blocks(const Blocks& blocks, const std::byte* bytes, int64_t count, T* values) {
  const std::byte* const whole = bytes + blocks.count(count) * kScaleBytes;
  Numbers numbers;
  for (int64_t first = 0; first < count; first += blocks.length) {
    const int64_t length = std::min(blocks.length, count - first);
    float scale = 0.0F;
    std::memcpy(&scale, bytes + first / blocks.length * kScaleBytes, sizeof scale);
    load(whole + blocks.bytes(first), length, blocks, numbers);
    for (int64_t i = 0; i < length; ++i) {
      values[first + i] = static_cast<T>(scale * static_cast<float>(numbers[static_cast<size_t>(i)]));
    }
  }
}

View view_of(std::span<std::byte> bytes, DType type, int64_t values) { return {bytes.data(), type, 1, values, values}; }

}  // namespace

bool is_integer(WireType type) { return type == WireType::int8 || type == WireType::int4; }

DType dtype_of_plain(WireType type) {
  ensure(!is_integer(type), "wire format", "integers are sent in blocks");
  return type == WireType::bf16 ? DType::bf16 : DType::f32;
}

double wire_bytes(WireType type) {
  if (!is_integer(type)) {
    return static_cast<double>(size_of(dtype_of_plain(type)));
  }
  const Blocks& blocks = blocks_of(type);
  return static_cast<double>(blocks.bytes(blocks.length) + kScaleBytes) / static_cast<double>(blocks.length);
}

bool WireFormat::is_wide() const { return type_ == WireType::f32; }

int64_t WireFormat::bytes(int64_t values) const {
  if (!is_integer(type_)) {
    return values * size_of(plain_type());
  }
  const Blocks& blocks = blocks_of(type_);
  return blocks.count(values) * kScaleBytes + blocks.bytes(values);
}

void WireFormat::encode(Backend& backend, const ConstView& values, std::span<std::byte> bytes) const {
  if (!is_integer(type_)) {
    return backend.copy(values, view_of(bytes, plain_type(), values.columns()));
  }
  if (wide_ == DType::f64) {
    encode_blocks(blocks_of(type_), host<double>(values).data, values.columns(), bytes.data());
  } else {
    encode_blocks(blocks_of(type_), host<float>(values).data, values.columns(), bytes.data());
  }
}

View WireFormat::decode(std::span<std::byte> bytes, int64_t values, const View& scratch) const {
  if (!is_integer(type_)) {
    return view_of(bytes, plain_type(), values);
  }
  const View result = scratch.column_range(0, values);
  if (wide_ == DType::f64) {
    decode_blocks(blocks_of(type_), bytes.data(), values, host<double>(result).data);
  } else {
    decode_blocks(blocks_of(type_), bytes.data(), values, host<float>(result).data);
  }
  return result;
}

}  // namespace heed
