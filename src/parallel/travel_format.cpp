#include "parallel/travel_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/errors.h"

namespace heed {
namespace {

constexpr int64_t kBlock = 256;
constexpr float kLargest = 127.0F;

int64_t blocks_of(int64_t values) { return (values + kBlock - 1) / kBlock; }

// Of the blocks' scales, which are not aligned.
constexpr int64_t kScaleBytes = sizeof(float);

template <class T>
void encode_block(const T* values, int64_t count, std::byte* scale_bytes, std::byte* bytes) {
  T largest = 0;
  bool is_finite = true;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(values[i]));
    is_finite &= std::isfinite(values[i]);
  }
  const float scale = is_finite ? static_cast<float>(largest) / kLargest : std::numeric_limits<float>::quiet_NaN();
  const float inverse = 1.0F / scale;
  // Not where all are zeros, or too small or too large for a scale.
  const bool is_scaled = std::isfinite(scale) && std::isfinite(inverse);
  std::memcpy(scale_bytes, &scale, sizeof scale);
  for (int64_t i = 0; i < count; ++i) {
    const float rounded = is_scaled ? std::nearbyint(static_cast<float>(values[i]) * inverse) : 0.0F;
    bytes[i] = static_cast<std::byte>(static_cast<int8_t>(std::clamp(rounded, -kLargest, kLargest)));
  }
}

template <class T>
void encode_blocks(const T* values, int64_t count, std::byte* bytes) {
  std::byte* const whole = bytes + blocks_of(count) * kScaleBytes;
  for (int64_t first = 0; first < count; first += kBlock) {
    encode_block(values + first, std::min(kBlock, count - first), bytes + first / kBlock * kScaleBytes, whole + first);
  }
}

template <class T>
void decode_blocks(const std::byte* bytes, int64_t count, T* values) {
  const std::byte* const whole = bytes + blocks_of(count) * kScaleBytes;
  for (int64_t first = 0; first < count; first += kBlock) {
    float scale = 0.0F;
    std::memcpy(&scale, bytes + first / kBlock * kScaleBytes, sizeof scale);
    for (int64_t i = first; i < std::min(first + kBlock, count); ++i) {
      values[i] = static_cast<T>(scale * static_cast<float>(static_cast<int8_t>(whole[i])));
    }
  }
}

View view_of(std::span<std::byte> bytes, DType type, int64_t values) { return {bytes.data(), type, 1, values, values}; }

}  // namespace

DType dtype_of_plain(TravelType type) {
  ensure(type != TravelType::int8, "travel", "int8 travels in blocks");
  return type == TravelType::bf16 ? DType::bf16 : DType::f32;
}

double traveling_bytes(TravelType type) {
  return type == TravelType::int8 ? 1.0 + static_cast<double>(kScaleBytes) / kBlock
                                  : static_cast<double>(size_of(dtype_of_plain(type)));
}

bool TravelFormat::is_wide() const { return type_ == TravelType::f32; }

int64_t TravelFormat::bytes(int64_t values) const {
  return type_ == TravelType::int8 ? values + blocks_of(values) * kScaleBytes : values * size_of(plain_type());
}

void TravelFormat::encode(Backend& backend, const View& values, std::span<std::byte> bytes) const {
  if (type_ != TravelType::int8) {
    return backend.copy(values, view_of(bytes, plain_type(), values.columns()));
  }
  if (wide_ == DType::f64) {
    encode_blocks(host<double>(values).data, values.columns(), bytes.data());
  } else {
    encode_blocks(host<float>(values).data, values.columns(), bytes.data());
  }
}

View TravelFormat::decode(std::span<std::byte> bytes, int64_t values, const View& scratch) const {
  if (type_ != TravelType::int8) {
    return view_of(bytes, plain_type(), values);
  }
  const View result = scratch.column_range(0, values);
  if (wide_ == DType::f64) {
    decode_blocks(bytes.data(), values, host<double>(result).data);
  } else {
    decode_blocks(bytes.data(), values, host<float>(result).data);
  }
  return result;
}

}  // namespace heed
