// Element types.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "heed/types/precision.h"

namespace heed {

enum class DType : uint8_t { f64, f32, bf16, i32, i8 };

constexpr int64_t size_of(DType type) {
  switch (type) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::i8:
      return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DType type) {
  switch (type) {
    case DType::f64:
      return "f64";
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::i8:
      return "i8";
  }
  return "?";
}

// The precision of a run whose products are of that type.
constexpr Precision precision_of(DType type) { return type == DType::bf16 ? Precision::bf16 : Precision::f32; }

// The upper half of a float: 8 bits of exponent, 8 of significand.
struct bf16 {
  uint16_t bits = 0;

  bf16() = default;
  // Rounds to nearest, ties to even; NaN stays NaN (quiet).
  constexpr explicit bf16(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const bool is_nan = (u & 0x7fffffffU) > 0x7f800000U;
    bits = static_cast<uint16_t>(is_nan ? (u >> 16) | 0x40U : (u + 0x7fffU + ((u >> 16) & 1U)) >> 16);
  }
  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::i8;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace heed
