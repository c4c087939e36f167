// Values weighed for a few rows of queries, as in decoding: they are not packed, since a panel would be used only once.
// The same sums in the same order as product(), so the same bits.

#if defined(HEED_KERNELS_CPU_ATTENTION_FEW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_FEW_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_FEW_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_FEW_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/rounding.h"
#include "kernels/cpu/attention/attention_pack-inl.h"
#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_prefetch-inl.h"
#include "kernels/cpu/attention/attention_tile-inl.h"
#include "kernels/cpu/attention/attention_transpose-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// The next kVectors vectors of a row's panel columns; `columns` columns remain.
template <int kVectors, class T>
HWY_INLINE void read_vectors(const T* from, int64_t columns, [[maybe_unused]] ColumnOrder order, Vec* x) {
  if constexpr (std::is_same_v<T, bf16> && kVectors >= 2) {
    if (order == ColumnOrder::deinterleaved) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; v += 2) {
        const WordVec pairs = load_pairs(from + v * kLanes);
        x[v] = even_part(pairs);
        x[v + 1] = odd_part(pairs);
      }
      return;
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    x[v] = kVectors > 1 || columns >= kLanes ? load(from + v * kLanes) : load_part(from, columns);
  }
}

// Vectors of a strip: at most a panel, and few enough sums to leave registers for values and probabilities. The fewer
// the rows, the wider, so that enough chains of additions are in flight.
constexpr int strip_vectors(int64_t rows) {
  constexpr int64_t kSums = kMaxVectors == 4 ? 16 : 8;
  return static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::min(kSums / rows, kPanel / kLanes))));
}
static_assert(strip_vectors(kFewRows) >= 2);  // deinterleaved columns are read in pairs of vectors

constexpr int64_t kKeysOfStep = 8;  // in weigh_few()

// The steps of the prefetch for `keys` values, if the width is a whole number of strips.
inline int64_t weigh_steps(int64_t rows, int64_t keys, int64_t width) {
  const int64_t strip = strip_vectors(rows) * kLanes;
  return ceil_div(keys, kKeysOfStep) * std::max<int64_t>(1, width / strip);
}

// kVectors vectors, from panel column `column` on, of to[r] = start + sum over keys of p[r][j] * v(j).
template <int kRows, int kVectors, class T>
HWY_NOINLINE void weigh_strip(const float* p, const HeadRows<T>& values, int64_t column, Steps keys, Sums to,
                              RowPrefetch<T>& prefetch) {
  const Floats d;
  const ColumnOrder order = values.order;
  Vec sums[kRows][kVectors];
  begin_sums(to, sums);
  for (int64_t j = keys.begin; j < keys.end;) {
    prefetch.step();
    for (const int64_t end = std::min(keys.end, j + kKeysOfStep); j < end; ++j) {
      Vec x[kVectors];
      read_vectors<kVectors>(values.row(j) + column, values.width - column, order, x);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Vec factor = hn::Set(d, p[r * kKeyBlock + j]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          sums[r][v] = hn::MulAdd(factor, x[v], sums[r][v]);
        }
      }
    }
  }
  store_sums(sums, to);
}

// Calls body(n), n a constant: the largest of kMost, kMost / 2, ... that is at most `vectors`; 1 for a part of a
// vector. Returns n.
template <int kMost, class Body>
HWY_INLINE int64_t with_strip(int64_t vectors, const Body& body) {
  if constexpr (kMost > 1) {
    if (vectors < kMost) {
      return with_strip<kMost / 2>(vectors, body);
    }
  }
  body(std::integral_constant<int, kMost>());
  return kMost;
}

// One panel of to[r] = start + sum over keys of p[r][j] * v(j), in about weigh_steps() steps of the prefetch for all
// panels.
template <int kRows, class T>
void weigh_few(const float* p, const HeadRows<T>& values, int64_t panel, Steps keys, Sums to,
               RowPrefetch<T>& prefetch) {
  const int64_t columns = panel_columns(values.width, panel);
  for (int64_t c = 0; c < columns;) {
    const int64_t column = panel * kPanel + c;
    const Sums strip{to.panel + c, to.start, to.decay};
    c += kLanes * with_strip<strip_vectors(kRows)>((columns - c) / kLanes, [&](auto vectors) {
           weigh_strip<kRows, vectors>(p, values, column, keys, strip, prefetch);
         });
  }
}

// Calls body(rows) with the number of rows, 1 to kFewRows, as a constant.
template <class Body>
HWY_INLINE void with_few_rows(int64_t rows, const Body& body) {
  switch (rows) {
    case 1:
      return body(std::integral_constant<int, 1>());
    case 2:
      return body(std::integral_constant<int, 2>());
    case 3:
      return body(std::integral_constant<int, 3>());
    default:
      return body(std::integral_constant<int, kFewRows>());
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_FEW_INL_H_
