// Packs rows of operands into panels, as f32, and unpacks panels.

#if defined(HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_tile-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// bf16 is widened and rounded two vectors at a time, without moving a lane: even columns go into one vector, odd ones
// into the next. Deinterleaved panels hold every 2 * kLanes columns of a head in that order. All panels of a call do,
// so that sums over columns pair the right ones. Other widths and types, and calls of several types, keep the natural
// order.
enum class ColumnOrder : bool { natural, deinterleaved };

template <class T>
constexpr ColumnOrder order_of_columns(int64_t width) {
  return std::is_same_v<T, bf16> && width % (2 * kLanes) == 0 ? ColumnOrder::deinterleaved : ColumnOrder::natural;
}

// The columns [first_column, first_column + width) of some rows of a matrix: those that `numbers` lists, or those from
// first_row on, `step` apart. Where they are written, Element is T.
template <class T, class Element = const T>
struct HeadRows {
  HeadRows(const HostView<Element>& matrix, int64_t first_column, int64_t head_width, int64_t row_count,
           int64_t first_row, int64_t step)
      : data(matrix.row(first_row) + first_column),
        stride(matrix.stride * step),
        rows(row_count),
        width(head_width),
        order(order_of_columns<T>(head_width)) {}
  HeadRows(const HostView<Element>& matrix, int64_t first_column, int64_t head_width, int64_t row_count,
           const int64_t* row_numbers)
      : data(matrix.data + first_column),
        stride(matrix.stride),
        rows(row_count),
        width(head_width),
        order(order_of_columns<T>(head_width)),
        numbers(row_numbers) {}

  // In panels with rows of another type.
  HeadRows in_natural_order() const {
    HeadRows other = *this;
    other.order = ColumnOrder::natural;
    return other;
  }

  // `count` of the listed rows, from `first` on.
  HeadRows part(int64_t first, int64_t count) const {
    HeadRows some = *this;
    some.numbers += first;
    some.rows = count;
    return some;
  }

  Element* row(int64_t r) const { return data + (numbers == nullptr ? r : numbers[r]) * stride; }

  Element* data;
  int64_t stride, rows, width;
  ColumnOrder order;
  const int64_t* numbers = nullptr;
};
template <class Element>
HeadRows(const HostView<Element>&, int64_t, int64_t, int64_t, int64_t, int64_t)
    -> HeadRows<std::remove_const_t<Element>, Element>;

HWY_INLINE Vec even_part(WordVec pairs) { return hn::BitCast(Floats(), hn::ShiftLeft<16>(pairs)); }
HWY_INLINE Vec odd_part(WordVec pairs) { return hn::BitCast(Floats(), hn::And(pairs, hn::Set(Words(), 0xffff0000U))); }

HWY_INLINE WordVec load_pairs(const bf16* from) {
  return hn::BitCast(Words(), hn::LoadU(hn::Repartition<uint16_t, Words>(), reinterpret_cast<const uint16_t*>(from)));
}

HWY_INLINE void store_pairs(Vec even, Vec odd, bf16* to) {
  const WordVec low = hn::ShiftRight<16>(round_upper_half(even));
  const WordVec both = hn::OrAnd(low, round_upper_half(odd), hn::Set(Words(), 0xffff0000U));
  const hn::Repartition<uint16_t, Words> d;
  hn::StoreU(hn::BitCast(d, both), d, reinterpret_cast<uint16_t*>(to));
}

// Calls put(c, vector) for the panel columns [c, c + kLanes) of a row of `columns` columns; zeros after the last.
template <class T, class Put>
HWY_INLINE void read_row(const T* row, int64_t columns, ColumnOrder order, const Put& put) {
  if constexpr (std::is_same_v<T, bf16>) {
    if (order == ColumnOrder::deinterleaved) {
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
HWY_INLINE void write_row(T* row, int64_t columns, ColumnOrder order, const Get& get) {
  if constexpr (std::is_same_v<T, bf16>) {
    if (order == ColumnOrder::deinterleaved) {
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

// Panels of kPanel columns, `panel_rows` rows apart: panel[c / kPanel][r][c % kPanel] = change(row(r)[c]),
// change(zeros) up to a whole vector.
template <class T, class Change>
void pack_rows(const HeadRows<T>& from, int64_t panel_rows, float* panels, const Change& change) {
  for (int64_t panel = 0; panel < panels_for(from.width); ++panel) {
    float* out = panels + panel * panel_rows * kPanel;
    for (int64_t r = 0; r < from.rows; ++r, out += kPanel) {
      read_row(from.row(r) + panel * kPanel, panel_columns(from.width, panel), from.order,
               [&](int64_t c, Vec x) { hn::Store(change(x), Floats(), out + c); });
    }
  }
}
template <class T>
void pack_rows(const HeadRows<T>& from, int64_t panel_rows, float* panels) {
  pack_rows(from, panel_rows, panels, [](Vec x) { return x; });
}

// The reverse: row(r)[c] = change(r, panel[c / kPanel][r][c % kPanel]).
template <class T, class Change>
void unpack_rows(const float* panels, int64_t panel_rows, const HeadRows<T, T>& to, const Change& change) {
  for (int64_t panel = 0; panel < panels_for(to.width); ++panel) {
    const float* in = panels + panel * panel_rows * kPanel;
    for (int64_t r = 0; r < to.rows; ++r, in += kPanel) {
      write_row(to.row(r) + panel * kPanel, panel_columns(to.width, panel), to.order,
                [&](int64_t c) { return change(r, hn::Load(Floats(), in + c)); });
    }
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_PACK_INL_H_
