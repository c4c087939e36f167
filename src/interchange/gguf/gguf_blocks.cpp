#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/errors.h"
#include "interchange/gguf/gguf.h"
#include "tensor/dtype.h"
#include "tensor/half.h"

namespace heed {
namespace {

using Block = std::span<const float>;

constexpr int64_t kScaleBytes = 2;
constexpr float kLargestOfEight = 127.0F;

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto more = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), more.begin(), more.end());
}

uint16_t checked_half(float x, const std::string& where) {
  require<ConfigError>(std::abs(x) <= kLargestHalf, where, "{} is more than f16 reaches, {}: export it as f32", x,
                       kLargestHalf);
  return half_from(x);
}

float of_largest_magnitude(Block block) {
  return *std::ranges::max_element(block, {}, [](float x) { return std::abs(x); });
}

// The scale, as it is read back. With a scale that f16 rounds to 0, all values are 0.
float append_scale(std::vector<std::byte>& bytes, float scale, const std::string& where) {
  const uint16_t half = checked_half(scale, where);
  append(bytes, half);
  return from_half(half);
}

float in_steps(float x, float scale) { return scale == 0.0F ? 0.0F : std::round(x / scale); }

void append_eight_bits(std::vector<std::byte>& bytes, Block block, const std::string& where) {
  const float scale = append_scale(bytes, std::abs(of_largest_magnitude(block)) / kLargestOfEight, where);
  for (const float x : block) {
    append(bytes, static_cast<int8_t>(std::clamp(in_steps(x, scale), -kLargestOfEight, kLargestOfEight)));
  }
}

void append_four_bits(std::vector<std::byte>& bytes, Block block, const std::string& where) {
  const float scale = append_scale(bytes, of_largest_magnitude(block) / -8.0F, where);
  const auto stored = [&](size_t i) {
    return static_cast<uint32_t>(std::clamp(in_steps(block[i], scale), -8.0F, 7.0F) + 8.0F);
  };
  const size_t half = block.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    append(bytes, static_cast<uint8_t>(stored(i) | stored(i + half) << 4));
  }
}

}  // namespace

int64_t bytes_of_gguf(GgufType type, int64_t elements) {
  switch (type) {
    case GgufType::f32:
      return 4 * elements;
    case GgufType::f16:
    case GgufType::bf16:
      return 2 * elements;
    case GgufType::q8_0:
      return elements / kGgufBlock * (kScaleBytes + kGgufBlock);
    case GgufType::q4_0:
      return elements / kGgufBlock * (kScaleBytes + kGgufBlock / 2);
  }
  return 0;
}

std::vector<std::byte> gguf_blocks(GgufType type, std::span<const float> values, const std::string& where) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(bytes_of_gguf(type, static_cast<int64_t>(values.size()))));
  if (type == GgufType::f32) {
    const auto all = std::as_bytes(values);
    bytes.assign(all.begin(), all.end());
    return bytes;
  }
  if (type == GgufType::f16) {
    for (const float x : values) {
      append(bytes, checked_half(x, where));
    }
    return bytes;
  }
  if (type == GgufType::bf16) {
    std::ranges::for_each(values, [&](float x) { append(bytes, bf16(x).bits); });
    return bytes;
  }
  require(values.size() % kGgufBlock == 0, where, "{} values are not whole blocks of {}", values.size(), kGgufBlock);
  for (size_t first = 0; first < values.size(); first += kGgufBlock) {
    const Block block = values.subspan(first, kGgufBlock);
    type == GgufType::q8_0 ? append_eight_bits(bytes, block, where) : append_four_bits(bytes, block, where);
  }
  return bytes;
}

}  // namespace heed
