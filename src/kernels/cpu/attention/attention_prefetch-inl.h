// Prefetching keys and values.

#if defined(HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/rounding.h"
#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_slices.h"
#include "kernels/cpu/machine/prefetch_level.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

constexpr int64_t kCacheLine = 64;

// Starts loading `count` cache lines.
HWY_INLINE void prefetch_lines(const std::byte* from, int64_t count, CacheLevel level) {
  for (const std::byte* const end = from + count * kCacheLine; from != end; from += kCacheLine) {
    level == CacheLevel::first ? __builtin_prefetch(from, 0, 3) : __builtin_prefetch(from, 0, 2);
  }
}

// Cache lines of `values` values, the first of which begins one.
template <class T>
constexpr int64_t cache_lines_of(int64_t values) {
  return ceil_div(values * static_cast<int64_t>(sizeof(T)), kCacheLine);
}

// Prefetches the keys and values of ranges of queries of few rows: while a slice is computed, the next one, and while a
// range's last one is, the next range's first. A few lines at a time: more than the processor has
// miss buffers for would hold up its own loads.
template <class Cached>
class RowPrefetch {
 public:
  // row_list has room for the rows of a block.
  RowPrefetch(const AttentionForward& call, HeadWidths widths, int64_t* row_list)
      : call_(call),
        settings_(call.settings),
        widths_(widths),
        keys_(host<Cached>(call.memory.keys)),
        values_(host<Cached>(call.memory.values)),
        row_list_(row_list) {
    if constexpr (kScaled) {
      key_scales_ = host<float>(call.memory.scales.keys);
      value_scales_ = host<float>(call.memory.scales.values);
    }
  }

  // Returns the slices in which the share's range of queries is to be read. A first slice that nobody prefetched is
  // asked for at once.
  const Slices& begin(const Share& share, const Surroundings& surroundings) {
    own_ = rows_of(share.query_range, share.first_key_value_head, share.key_value_heads);
    next_range_ = {};
    const int64_t group = settings_.heads / settings_.key_value_heads;
    if (!(surroundings.next_range == share.query_range) && surroundings.next_range.queries * group <= kFewRows) {
      next_range_ = rows_of(surroundings.next_range, 0, settings_.key_value_heads);
    }
    if (surroundings.begins) {
      listed_block_ = -1;
      take(own_, own_.slices.first());
      prefetch(kAllLines);
    }
    return own_.slices;
  }

  // step() will be called about this many times, at least 1, while the slice is computed. Lines of the slice that no
  // step has reached come now.
  void begin_slice(const Slice& slice, int64_t steps) {
    prefetch(kAllLines);
    if (const std::optional<Slice> next = own_.slices.after(slice)) {
      take(own_, next);
    } else {
      listed_block_ = -1;
      take(next_range_, next_range_.slices.first());
    }
    lines_of_step_ = ceil_div(rows_left_ * lines_of_row_, steps);
  }

  HWY_INLINE void step() { prefetch(lines_of_step_); }

 private:
  static constexpr bool kScaled = std::is_same_v<Cached, int8_t>;
  static constexpr int64_t kAllLines = std::numeric_limits<int64_t>::max();

  // The rows of a sequence's residue class, for some key-value heads.
  struct Rows {
    int64_t sequence = -1, residue = 0;
    int64_t first_head = 0, heads = 0;
    Slices slices;
  };

  Rows rows_of(const QueryRange& query_range, int64_t first_head, int64_t heads) const {
    const ResidueClass tokens =
        class_of(settings_, *call_.segments, *call_.memory.segments, query_range.sequence, query_range.residue);
    const int64_t first = tokens.first_position + query_range.first_query;
    const Visibility::Range seen =
        settings_.visibility.within_class().range(first, first + query_range.queries - 1, tokens.keys);
    const int64_t row_bytes =
        heads * std::max(widths_.of_keys, widths_.of_values) * static_cast<int64_t>(sizeof(Cached));
    return {query_range.sequence, query_range.residue, first_head, heads, Slices(seen, row_bytes)};
  }

  // The rows to prefetch from now on.
  void take(const Rows& rows, const std::optional<Slice>& slice) {
    rows_left_ = run_lines_ = 0;
    if (!slice) {
      return;
    }
    list_block(rows, *slice);
    of_ = slice->of;
    first_head_ = rows.first_head;
    rows_left_ = slice->end - slice->begin;
    next_row_ = row_list_ + slice->begin % kKeyBlock;
    lines_of_row_ = cache_lines_of<Cached>(rows.heads * (of_ == Slice::Of::keys ? widths_.of_keys : widths_.of_values));
  }

  void list_block(const Rows& rows, const Slice& slice) {
    const int64_t block = slice.begin / kKeyBlock, stride = settings_.visibility.stride;
    if (block != listed_block_) {
      const auto [begin, end] = rows.slices.seen_of_block(slice.begin);
      list_rows(call_.memory, {rows.sequence, rows.residue + begin * stride, end - begin, stride},
                row_list_ + begin % kKeyBlock);
      listed_block_ = block;
    }
  }

  // The next `count` lines of what was taken.
  HWY_INLINE void prefetch(int64_t count) {
    while (count > 0) {
      if (run_lines_ == 0 && !begin_run()) {
        return;
      }
      const int64_t lines = std::min(count, run_lines_);
      prefetch_lines(run_, lines, level_);
      run_ += lines * kCacheLine;
      run_lines_ -= lines;
      count -= lines;
    }
  }

  // The next row; false after the last one.
  HWY_NOINLINE bool begin_run() {
    if (rows_left_ == 0) {
      return false;
    }
    --rows_left_;
    const int64_t row = *next_row_++;
    if (of_ == Slice::Of::keys) {
      run_ = bytes_of(keys_.row(row) + first_head_ * widths_.of_keys);
      prefetch_scales(row);
    } else {
      run_ = bytes_of(values_.row(row) + first_head_ * widths_.of_values);
    }
    run_lines_ = lines_of_row_;
    return true;
  }

  // The scales of keys and of values, since probabilities are multiplied by the latter before any value is read.
  void prefetch_scales(int64_t row) const {
    if constexpr (kScaled) {
      const int64_t lines = cache_lines_of<float>(settings_.key_value_heads);
      prefetch_lines(bytes_of(key_scales_.row(row)), lines, level_);
      prefetch_lines(bytes_of(value_scales_.row(row)), lines, level_);
    }
  }

  template <class T>
  static const std::byte* bytes_of(const T* values) {
    return reinterpret_cast<const std::byte*>(values);
  }

  const AttentionForward& call_;
  const AttentionSettings& settings_;
  HeadWidths widths_;
  HostView<const Cached> keys_, values_;
  HostView<const float> key_scales_{}, value_scales_{};
  int64_t* row_list_;
  CacheLevel level_ = level_for_blocks();

  Rows own_, next_range_;  // of this share's range of queries, and of the next one
  int64_t listed_block_ = -1;
  // Where prefetching is in its slice:
  Slice::Of of_ = Slice::Of::keys;
  int64_t first_head_ = 0, rows_left_ = 0, lines_of_row_ = 0, lines_of_step_ = 0;
  const int64_t* next_row_ = nullptr;
  const std::byte* run_ = nullptr;  // what is left of a row
  int64_t run_lines_ = 0;
};

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
