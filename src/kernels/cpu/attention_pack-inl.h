// Brings rows of operands into panels, as f32.

#if defined(HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/attention_tile-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// Where the rows of one head lie: row(r) for r in [0, rows), `width` elements each.
template <class T>
struct HeadRows {
  const T* const* row;
  int64_t rows, width;
};

// Panels of kPanel columns, `panel_rows` rows apart: panel[c / kPanel][r][c % kPanel] = factor * row(r)[c], zeros up to a
// whole vector.
template <class T>
void pack_rows(const HeadRows<T>& from, float factor, int64_t panel_rows, float* panels) {
  const Vec scale = hn::Set(Floats(), factor);
  for (int64_t first = 0; first < from.width; first += kPanel) {
    const int64_t columns = std::min(kPanel, from.width - first);
    for (int64_t r = 0; r < from.rows; ++r) {
      const T* const row = from.row[r] + first;
      float* const out = panels + (first / kPanel * panel_rows + r) * kPanel;
      for_columns(
          columns, [&](int64_t c) { store(hn::Mul(load(row + c), scale), out + c); },
          [&](int64_t c, int64_t count) { store(hn::Mul(load_part(row + c, count), scale), out + c); });
    }
  }
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

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

// kLanes columns of up to kLanes rows.
HWY_INLINE void transpose_columns(const float* const* row, int64_t rows, int64_t first, int64_t columns, float* out) {
  Vec x[kLanes];
#pragma GCC unroll 16
  for (int64_t r = 0; r < kLanes; ++r) {
    x[r] = r >= rows            ? hn::Zero(Floats())
           : columns >= kLanes ? load(row[r] + first)
                                : load_part(row[r] + first, columns);
  }
  transpose(x);
#pragma GCC unroll 16
  for (int64_t c = 0; c < kLanes; ++c) {
    if (c < columns) {
      hn::Store(x[c], Floats(), out + c * kKeyBlock);
    }
  }
}
constexpr int64_t columns_at_once(const float* /*of*/) { return kLanes; }

// Twice as many columns: a pair of bf16 moves as one 32-bit element and is parted afterwards.
HWY_INLINE void transpose_columns(const bf16* const* row, int64_t rows, int64_t first, int64_t columns, float* out) {
  const hn::Repartition<uint16_t, Words> d;
  alignas(64) uint16_t part[2 * kLanes] = {};
  WordVec x[kLanes];
#pragma GCC unroll 16
  for (int64_t r = 0; r < kLanes; ++r) {
    if (r >= rows) {
      x[r] = hn::Zero(Words());
    } else if (columns >= 2 * kLanes) {
      x[r] = hn::BitCast(Words(), hn::LoadU(d, reinterpret_cast<const uint16_t*>(row[r] + first)));
    } else {
      std::memcpy(part, row[r] + first, static_cast<size_t>(columns) * sizeof(bf16));
      x[r] = hn::BitCast(Words(), hn::Load(d, part));
    }
  }
  transpose(x);
#pragma GCC unroll 16
  for (int64_t c = 0; c < kLanes; ++c) {
    if (2 * c < columns) {
      hn::Store(hn::BitCast(Floats(), hn::ShiftLeft<16>(x[c])), Floats(), out + 2 * c * kKeyBlock);
    }
    if (2 * c + 1 < columns) {
      const Vec odd = hn::BitCast(Floats(), hn::And(x[c], hn::Set(Words(), 0xffff0000U)));
      hn::Store(odd, Floats(), out + (2 * c + 1) * kKeyBlock);
    }
  }
}
constexpr int64_t columns_at_once(const bf16* /*of*/) { return 2 * kLanes; }

// One block of keys, transposed: panel[c][r] = row(r)[c], zeros up to a whole vector of rows.
template <class T>
void pack_transposed(const HeadRows<T>& from, float* panel) {
  constexpr int64_t kColumns = columns_at_once(static_cast<const T*>(nullptr));
  for (int64_t r = 0; r < from.rows; r += kLanes) {
    for (int64_t c = 0; c < from.width; c += kColumns) {
      transpose_columns(from.row + r, from.rows - r, c, from.width - c, panel + c * kKeyBlock + r);
    }
  }
}

#else

template <class T>
void pack_transposed(const HeadRows<T>& from, float* panel) {
  const int64_t padded = (from.rows + kLanes - 1) / kLanes * kLanes;
  for (int64_t c = 0; c < from.width; ++c) {
    for (int64_t r = 0; r < padded; ++r) {
      panel[c * kKeyBlock + r] = r < from.rows ? static_cast<float>(from.row[r][c]) : 0.0F;
    }
  }
}

#endif

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_
