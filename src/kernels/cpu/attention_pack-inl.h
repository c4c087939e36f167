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
#include <type_traits>

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

// Asks the memory for columns [column, column + columns) of rows [row, row + rows).
template <class T>
void fetch_rows(const HostView<T>& matrix, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t r = row; r < row + rows; ++r) {
    for (int64_t c = column; c < column + columns; c += kLine) {
      hwy::Prefetch(matrix.row(r) + c);
    }
  }
}

// bf16 is widened and rounded two vectors at a time, without moving a lane: even columns into one vector, odd ones into
// the next. Such panels hold each 2 * kLanes columns of a head in that order, all panels of a call alike, so that sums
// over columns meet their partners. Other widths, and f32, keep the natural order.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

template <class T>
constexpr bool parted(int64_t width) {
  return std::is_same_v<T, bf16> && width % (2 * kLanes) == 0;
}

HWY_INLINE Vec even_part(WordVec pairs) { return hn::BitCast(Floats(), hn::ShiftLeft<16>(pairs)); }
HWY_INLINE Vec odd_part(WordVec pairs) {
  return hn::BitCast(Floats(), hn::And(pairs, hn::Set(Words(), 0xffff0000U)));
}

HWY_INLINE WordVec load_pairs(const bf16* from) {
  return hn::BitCast(Words(), hn::LoadU(hn::Repartition<uint16_t, Words>(), reinterpret_cast<const uint16_t*>(from)));
}

// The upper half of each lane becomes its bf16: to nearest, ties to even. NaN stays NaN: what sums and products of bf16
// make of it is quiet, with lower bits that can't carry.
HWY_INLINE WordVec round_upper_half(Vec x) {
  const Words d;
  const WordVec u = hn::BitCast(d, x);
  const WordVec odd = hn::And(hn::ShiftRight<16>(u), hn::Set(d, 1U));
  return hn::Add(u, hn::Add(odd, hn::Set(d, 0x7fffU)));
}

HWY_INLINE void store_pairs(Vec even, Vec odd, bf16* to) {
  const WordVec low = hn::ShiftRight<16>(round_upper_half(even));
  const WordVec both = hn::OrAnd(low, round_upper_half(odd), hn::Set(Words(), 0xffff0000U));
  const hn::Repartition<uint16_t, Words> d;
  hn::StoreU(hn::BitCast(d, both), d, reinterpret_cast<uint16_t*>(to));
}

#else

template <class T>
constexpr bool parted(int64_t /*width*/) {
  return false;
}

#endif

// Calls put(c, vector) for the panel columns [c, c + kLanes) of a row of `columns` columns; zeros behind the last.
template <class T, class Put>
HWY_INLINE void read_row(const T* row, int64_t columns, bool in_parts, Put&& put) {
  if constexpr (parted<T>(0)) {
    if (in_parts) {
      for (int64_t c = 0; c < columns; c += 2 * kLanes) {
        const auto pairs = load_pairs(row + c);
        put(c, even_part(pairs));
        put(c + kLanes, odd_part(pairs));
      }
      return;
    }
  }
  for_columns(
      columns, [&](int64_t c) { put(c, load(row + c)); },
      [&](int64_t c, int64_t count) { put(c, load_part(row + c, count)); });
}

// The reverse: get(c) gives the panel columns [c, c + kLanes).
template <class T, class Get>
HWY_INLINE void write_row(T* row, int64_t columns, bool in_parts, Get&& get) {
  if constexpr (parted<T>(0)) {
    if (in_parts) {
      for (int64_t c = 0; c < columns; c += 2 * kLanes) {
        store_pairs(get(c), get(c + kLanes), row + c);
      }
      return;
    }
  }
  for_columns(
      columns, [&](int64_t c) { store(get(c), row + c); },
      [&](int64_t c, int64_t count) { store_part(get(c), row + c, count); });
}

// Panels of kPanel columns, `panel_rows` rows apart: panel[c / kPanel][r][c % kPanel] = change(row(r)[c]), change(zeros) up
// to a whole vector.
template <class T, class Change>
void pack_rows(const HeadRows<T>& from, int64_t panel_rows, float* panels, const Change& change) {
  const bool in_parts = parted<T>(from.width);
  for (int64_t first = 0; first < from.width; first += kPanel) {
    const int64_t columns = std::min(kPanel, from.width - first);
    float* out = panels + first * panel_rows;
    for (int64_t r = 0; r < from.rows; ++r, out += kPanel) {
      read_row(from.row[r] + first, columns, in_parts,
               [&](int64_t c, Vec x) { hn::Store(change(x), Floats(), out + c); });
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
HWY_INLINE void transpose_columns(const float* const* row, int64_t rows, int64_t first, int64_t columns,
                                  bool /*in_parts*/, float* out) {
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
HWY_INLINE void transpose_columns(const bf16* const* row, int64_t rows, int64_t first, int64_t columns, bool in_parts,
                                  float* out) {
  bf16 part[2 * kLanes] = {};
  WordVec x[kLanes];
#pragma GCC unroll 16
  for (int64_t r = 0; r < kLanes; ++r) {
    if (r >= rows) {
      x[r] = hn::Zero(Words());
    } else if (columns >= 2 * kLanes) {
      x[r] = load_pairs(row[r] + first);
    } else {
      std::memcpy(part, row[r] + first, static_cast<size_t>(columns) * sizeof(bf16));
      x[r] = load_pairs(part);
    }
  }
  transpose(x);
  const int64_t step = in_parts ? kKeyBlock : 2 * kKeyBlock;
  float* const odd_out = out + (in_parts ? kLanes : 1) * kKeyBlock;
#pragma GCC unroll 16
  for (int64_t c = 0; c < kLanes; ++c) {
    if (2 * c < columns) {
      hn::Store(even_part(x[c]), Floats(), out + c * step);
    }
    if (2 * c + 1 < columns) {
      hn::Store(odd_part(x[c]), Floats(), odd_out + c * step);
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
      transpose_columns(from.row + r, from.rows - r, c, from.width - c, parted<T>(from.width),
                        panel + c * kKeyBlock + r);
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
