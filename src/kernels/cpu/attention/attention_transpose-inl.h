// Packs a block of keys or values into a panel, transposed.

#if defined(HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/attention/attention_pack-inl.h"
#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// Blocks of four lanes: x[4 i + k] has block b of the vector that becomes column 4 b + k, for the rows 4 i to 4 i + 3.
template <class V>
HWY_INLINE void transpose_within_blocks(V (&x)[kLanes]) {
  const hn::DFromV<V> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
#pragma GCC unroll 4
  for (int64_t i = 0; i < kLanes; i += 4) {
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, x[i], x[i + 1]));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, x[i], x[i + 1]));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, x[i + 2], x[i + 3]));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, x[i + 2], x[i + 3]));
    x[i] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
    x[i + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
    x[i + 2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
    x[i + 3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
  }
}

// x[i][j] = x[j][i]: four lanes at a time, then whole blocks.
template <class V, int64_t kCount>
HWY_INLINE void transpose(V (&x)[kCount]) {
  const hn::DFromV<V> d;
  transpose_within_blocks(x);
  if constexpr (kCount == 8) {
#pragma GCC unroll 4
    for (int64_t k = 0; k < 4; ++k) {
      const V low = x[k], high = x[4 + k];
      x[k] = hn::ConcatLowerLower(d, high, low);
      x[4 + k] = hn::ConcatUpperUpper(d, high, low);
    }
  } else if constexpr (kCount == 16) {
#pragma GCC unroll 4
    for (int64_t k = 0; k < 4; ++k) {
      const V low02 = hn::ConcatLowerLower(d, x[8 + k], x[k]), high02 = hn::ConcatUpperUpper(d, x[8 + k], x[k]);
      const V low13 = hn::ConcatLowerLower(d, x[12 + k], x[4 + k]),
              high13 = hn::ConcatUpperUpper(d, x[12 + k], x[4 + k]);
      x[k] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low13), low02);
      x[4 + k] = hn::OddEvenBlocks(low13, hn::SwapAdjacentBlocks(low02));
      x[8 + k] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high13), high02);
      x[12 + k] = hn::OddEvenBlocks(high13, hn::SwapAdjacentBlocks(high02));
    }
  } else {
    static_assert(kCount == 4);
  }
}

// kLanes rows by their addresses.
template <class T>
struct RowBlock {
  HWY_INLINE const T* row(int64_t r) const { return rows[r]; }

  const T* const* rows;
  int64_t width;
  ColumnOrder order;
};

// At most kKeyBlock rows, to be read several times. Up to a whole vector of rows the last one is repeated.
template <class T>
class RowAddresses {
 public:
  explicit RowAddresses(const HeadRows<T>& rows) : width_(rows.width), order_(rows.order) {
    for (int64_t r = 0; r < rows.rows; ++r) {
      at_[r] = rows.row(r);
    }
    for (int64_t r = rows.rows; r % kLanes != 0; ++r) {
      at_[r] = at_[r - 1];
    }
  }

  HWY_INLINE RowBlock<T> block(int64_t first) const { return {at_ + first, width_, order_}; }

 private:
  const T* at_[kKeyBlock];
  int64_t width_;
  ColumnOrder order_;
};

// Calls visit(c, i, vector) for the panel columns c + i, i < 2 * kLanes, of a deinterleaved block: a pair of bf16 moves
// as one 32-bit element.
template <class Visit>
HWY_INLINE void visit_deinterleaved(const RowBlock<bf16>& rows, int64_t c, const Visit& visit) {
  WordVec x[kLanes];
#pragma GCC unroll 16
  for (int64_t r = 0; r < kLanes; ++r) {
    x[r] = load_pairs(rows.row(r) + c);
  }
  transpose(x);
#pragma GCC unroll 16
  for (int64_t i = 0; i < kLanes; ++i) {
    visit(c, i, even_part(x[i]));
  }
#pragma GCC unroll 16
  for (int64_t i = 0; i < kLanes; ++i) {
    visit(c, kLanes + i, odd_part(x[i]));
  }
}

template <class T, class Visit>
HWY_INLINE void visit_lanes(const RowBlock<T>& rows, int64_t c, const Visit& visit) {
  const int64_t columns = rows.width - c;
  Vec x[kLanes];
#pragma GCC unroll 16
  for (int64_t r = 0; r < kLanes; ++r) {
    x[r] = load_upto(rows.row(r) + c, columns);
  }
  transpose(x);
#pragma GCC unroll 16
  for (int64_t i = 0; i < kLanes; ++i) {
    visit(c, i, x[i]);
  }
}

// Calls visit(c, i, vector) for the panel columns c + i, i < n, of a block, in order: lane r of the vector is row r's.
// Returns n, a number of whole vectors; columns after the last one are zeros. These never cross the end of a panel.
template <class T, class Visit>
HWY_INLINE int64_t visit_columns(const RowBlock<T>& rows, int64_t c, const Visit& visit) {
  if constexpr (std::is_same_v<T, bf16>) {
    if (rows.order == ColumnOrder::deinterleaved) {
      visit_deinterleaved(rows, c, visit);
      return 2 * kLanes;
    }
  }
  visit_lanes(rows, c, visit);
  return kLanes;
}

// Each column of at most kKeyBlock rows becomes a row of the panel, number row_of(c, i) for column c + i. Up to a whole
// vector of rows the last one is repeated.
template <class T, class RowOf>
void pack_columns(const HeadRows<T>& from, float* panel, const RowOf& row_of) {
  const RowAddresses<T> addresses(from);
  for (int64_t first = 0; first < from.rows; first += kLanes) {
    const RowBlock<T> block = addresses.block(first);
    for (int64_t c = 0; c < from.width;) {
      c += visit_columns(block, c, [panel = panel + first, row_of](int64_t column, int64_t i, Vec x) HWY_ATTR {
        hn::Store(x, Floats(), panel + row_of(column, i) * kKeyBlock);
      });
    }
  }
}
template <class T>
void pack_columns(const HeadRows<T>& from, float* panel) {
  pack_columns(from, panel, [](int64_t c, int64_t i) { return c + i; });
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_TRANSPOSE_INL_H_
