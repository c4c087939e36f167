// Products for a few rows of queries, as in decoding: keys and values are not packed, since a panel would be used only
// once. The same sums in the same order as product(), so the same bits.

#if defined(HEED_KERNELS_CPU_ATTENTION_FEW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_FEW_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_FEW_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_FEW_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/attention_pack-inl.h"
#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/attention_tile-inl.h"
#include "kernels/cpu/attention_transpose-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// Columns of kVectors vectors of keys times those of one query, added to the keys' scores.
template <int kVectors>
HWY_INLINE void add_columns(const float* query, int64_t columns, const float* keys, Sums::Start start, float* scores) {
  Vec sums[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = start == Sums::Start::zero ? hn::Zero(Floats()) : hn::Load(Floats(), scores + v * kLanes);
  }
  for (int64_t i = 0; i < columns; ++i, keys += kKeyBlock) {
    const Vec q = hn::Set(Floats(), query[i]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::MulAdd(q, hn::Load(Floats(), keys + v * kLanes), sums[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    hn::Store(sums[v], Floats(), scores + v * kLanes);
  }
}

// The same for any number of vectors, up to four at a time.
HWY_INLINE void add_columns(int64_t vectors, const float* query, int64_t columns, const float* keys, Sums::Start start,
                            float* scores) {
  int64_t v = 0;
  for (; v + 4 <= vectors; v += 4) {
    add_columns<4>(query, columns, keys + v * kLanes, start, scores + v * kLanes);
  }
  for (; v + 2 <= vectors; v += 2) {
    add_columns<2>(query, columns, keys + v * kLanes, start, scores + v * kLanes);
  }
  if (v < vectors) {
    add_columns<1>(query, columns, keys + v * kLanes, start, scores + v * kLanes);
  }
}

// scores[r][j] = q(r).k(j), for all keys of a block. Each sum is a chain of additions: a few columns of all keys are
// transposed at a time, so that several chains are in flight. meanwhile() is called score_steps() times.
template <class T, class Meanwhile>
void score_few(int64_t rows, const float* queries, int64_t panel_rows, const HeadRows<T>& keys, float* scores,
               const Meanwhile& meanwhile) {
  alignas(64) float transposed[2 * kLanes * kKeyBlock];
  for (int64_t c = 0, columns = 0; c < keys.width; c += columns) {
    for (int64_t first = 0; first < keys.rows; first += kLanes) {
      meanwhile();
      columns = visit_columns(RowBlock<T>{keys, first}, c,
                              [to = transposed + first](int64_t, int64_t i, Vec k)
                                  HWY_ATTR { hn::Store(k, Floats(), to + i * kKeyBlock); });
    }
    const float* const query = queries + c / kPanel * panel_rows * kPanel + c % kPanel;
    for (int64_t r = 0; r < rows; ++r) {
      add_columns(vectors_for(keys.rows), query + r * kPanel, columns, transposed,
                  c == 0 ? Sums::Start::zero : Sums::Start::former, scores + r * kKeyBlock);
    }
  }
}

// The calls of meanwhile() for a block of `keys` keys; rounded down if the width is not a whole number of vectors.
inline int64_t score_steps(int64_t keys, int64_t width, bool deinterleaved) {
  return vectors_for(keys) * std::max<int64_t>(1, width / (deinterleaved ? 2 * kLanes : kLanes));
}

constexpr int64_t kKeysOfStep = 8;  // in weigh_few()

// The calls of meanwhile() to weigh a block of `keys` values; rounded down if the width is not a whole number of strips.
inline int64_t weigh_steps(int64_t keys, int64_t width) {
  const int64_t strip = (kMaxVectors >= 4 ? kMaxVectors : 2) * kLanes;
  return (keys + kKeysOfStep - 1) / kKeysOfStep * std::max<int64_t>(1, width / strip);
}

// The next kVectors vectors of a row's panel columns; `columns` columns remain.
template <int kVectors, class T>
HWY_INLINE void read_vectors(const T* from, int64_t columns, [[maybe_unused]] bool deinterleaved, Vec* x) {
  if constexpr (std::is_same_v<T, bf16> && kVectors >= 2) {
    if (deinterleaved) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; v += 2) {
        const WordVec pairs = load_pairs(from + v * kLanes);
        x[v] = even_part(pairs);
        x[v + 1] = odd_part(pairs);
      }
      return;
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    x[v] = kVectors > 1 || columns >= kLanes ? load(from + v * kLanes) : load_part(from, columns);
  }
}

// kVectors vectors, from panel column `column` on, of to[r] = start + sum over keys of p[r][j] * v(j).
template <int kRows, int kVectors, class T, class Meanwhile>
HWY_NOINLINE void weigh_strip(const float* p, const HeadRows<T>& values, int64_t column, Steps keys, Sums to,
                              const Meanwhile& meanwhile) {
  const Floats d;
  const bool deinterleaved = values.deinterleaved;
  Vec sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = to.start == Sums::Start::zero
                       ? hn::Zero(d)
                       : hn::Mul(hn::Load(d, panel_at(to.panel, r, v)), hn::Set(d, to.decay[r]));
    }
  }
  for (int64_t j = keys.begin; j < keys.end;) {
    meanwhile();
    for (const int64_t end = std::min(keys.end, j + kKeysOfStep); j < end; ++j) {
      Vec x[kVectors];
      read_vectors<kVectors>(values.row(j) + column, values.width - column, deinterleaved, x);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Vec factor = hn::Set(d, p[r * kKeyBlock + j]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sums[r][v] = hn::MulAdd(factor, x[v], sums[r][v]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sums[r][v], d, panel_at(to.panel, r, v));
    }
  }
}

// One panel of to[r] = start + sum over keys of p[r][j] * v(j). For all panels, meanwhile() is called weigh_steps() times.
template <int kRows, class T, class Meanwhile>
void weigh_few(const float* p, const HeadRows<T>& values, int64_t panel, Steps keys, Sums to,
               const Meanwhile& meanwhile) {
  const int64_t columns = panel_columns(values.width, panel);
  for (int64_t c = 0; c < columns;) {
    const int64_t vectors = (columns - c) / kLanes, column = panel * kPanel + c;
    const Sums strip{to.panel + c, to.start, to.decay};
    if (kMaxVectors >= 4 && vectors >= 4) {
      weigh_strip<kRows, kMaxVectors>(p, values, column, keys, strip, meanwhile);
      c += kMaxVectors * kLanes;
    } else if (vectors >= 2) {
      weigh_strip<kRows, 2>(p, values, column, keys, strip, meanwhile);
      c += 2 * kLanes;
    } else {
      weigh_strip<kRows, 1>(p, values, column, keys, strip, meanwhile);
      c += kLanes;
    }
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
