// Brings a block of keys or values into a panel as columns.

#if defined(HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/attention_pack-inl.h"
#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// Each round unzips neighbouring vectors, which moves the lowest bit of an element's lane to the top of its row's number,
// and the rest of (row, lane) down by one: after log2(lanes) rounds rows and lanes have changed places.
template <class V>
HWY_INLINE void transpose(V (&x)[kLanes]) {
  const hn::DFromV<V> d;
#pragma GCC unroll 4
  for (int64_t round = 1; round < kLanes; round *= 2) {
    V y[kLanes];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLanes / 2; ++i) {
      y[i] = hn::ConcatEven(d, x[2 * i + 1], x[2 * i]);
      y[i + kLanes / 2] = hn::ConcatOdd(d, x[2 * i + 1], x[2 * i]);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) {
      x[i] = y[i];
    }
  }
}

// 2 * kLanes columns, from `column` on, of kLanes rows in parts: a pair of bf16 moves as one 32-bit element.
HWY_INLINE void transpose_parts(const bf16* const* row, int64_t column, float* out) {
  WordVec x[kLanes];
#pragma GCC unroll 16
  for (int64_t r = 0; r < kLanes; ++r) {
    x[r] = load_pairs(row[r] + column);
  }
  transpose(x);
#pragma GCC unroll 16
  for (int64_t c = 0; c < kLanes; ++c) {
    hn::Store(even_part(x[c]), Floats(), out + c * kKeyBlock);
    hn::Store(odd_part(x[c]), Floats(), out + (kLanes + c) * kKeyBlock);
  }
}

// kLanes columns of kLanes rows.
template <class T>
HWY_INLINE void transpose_columns(const T* const* row, int64_t column, float* out) {
  Vec x[kLanes];
#pragma GCC unroll 16
  for (int64_t r = 0; r < kLanes; ++r) {
    x[r] = load(row[r] + column);
  }
  transpose(x);
#pragma GCC unroll 16
  for (int64_t c = 0; c < kLanes; ++c) {
    hn::Store(x[c], Floats(), out + c * kKeyBlock);
  }
}

// panel[c][r] = row(r)[c], for all columns and at most kKeyBlock rows. Up to a whole vector of rows the last one is
// repeated.
template <class T>
void pack_columns(const HeadRows<T>& from, float* panel) {
  for (int64_t first = 0; first < from.rows; first += kLanes) {
    const T* row[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {
      row[r] = from.row(std::min(first + r, from.rows - 1));
    }
    float* const out = panel + first;
    int64_t c = 0;
    if constexpr (std::is_same_v<T, bf16>) {
      for (; parted<T>(from.width) && c < from.width; c += 2 * kLanes) {
        transpose_parts(row, c, out + c * kKeyBlock);
      }
    }
    for (; c + kLanes <= from.width; c += kLanes) {
      transpose_columns(row, c, out + c * kKeyBlock);
    }
    for (; c < from.width; ++c) {
      for (int64_t r = 0; r < kLanes; ++r) {
        out[c * kKeyBlock + r] = static_cast<float>(row[r][c]);
      }
    }
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_
