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
#include <type_traits>

#include "base/rounding.h"
#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/prefetch_level.h"
#include "kernels/cpu/simd-inl.h"

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

// Prefetches the rows of keys and values of pieces of few rows. A head's part of a row is only a cache line or two:
// read head by head, each would be waited for. So while a block is computed, the rows of the next one are prefetched,
// those of all the share's heads; while the last one is, those of the next piece's first. A few lines at a time: more
// than the processor has miss buffers for would hold up its own loads.
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

  // Rows of a first block that nobody prefetched are all asked for at once.
  void begin(const Share& share, const Surroundings& surroundings) {
    own_ = rows_of(share.piece, share.first_key_value_head, share.key_value_heads);
    next_piece_ = {};
    const int64_t group = settings_.heads / settings_.key_value_heads;
    if (!(surroundings.next_piece == share.piece) && surroundings.next_piece.queries * group <= kFewRows) {
      next_piece_ = rows_of(surroundings.next_piece, 0, settings_.key_value_heads);
    }
    if (surroundings.begins) {
      take(first_block_of(own_));
      prefetch(kAllLines);
    }
  }

  // step() will be called about this many times, at least 1, while the block is computed; fewer if its rows do not see
  // all of it. Lines of this block that no step has reached come now.
  void begin_block(int64_t block, int64_t steps) {
    prefetch(kAllLines);
    const bool is_last = (block + 1) * kKeyBlock >= own_.end;
    take(is_last ? first_block_of(next_piece_) : block_of(own_, block + 1));
    const int64_t lines = rows_ * (lines_of_keys_ + lines_of_values_);
    lines_of_step_ = ceil_div(lines, steps);
  }

  HWY_INLINE void step() { prefetch(lines_of_step_); }

 private:
  static constexpr bool kScaled = std::is_same_v<Cached, int8_t>;
  static constexpr int64_t kAllLines = std::numeric_limits<int64_t>::max();

  // Of a class of a sequence, for some key-value heads.
  struct Rows {
    int64_t sequence = -1, residue = 0;
    int64_t begin = 0, end = 0;
    int64_t first_head = 0, heads = 0;
  };

  Rows rows_of(const Piece& piece, int64_t first_head, int64_t heads) const {
    const ResidueClass tokens =
        class_of(settings_, *call_.segments, *call_.memory.segments, piece.sequence, piece.residue);
    const int64_t first = tokens.first_position + piece.first_query;
    const Visibility::Range seen =
        settings_.visibility.within_class().range(first, first + piece.queries - 1, tokens.keys);
    return {piece.sequence, piece.residue, seen.begin, seen.end, first_head, heads};
  }

  static Rows block_of(Rows rows, int64_t block) {
    rows.begin = std::max(rows.begin, block * kKeyBlock);
    rows.end = std::min(rows.end, (block + 1) * kKeyBlock);
    return rows;
  }
  static Rows first_block_of(const Rows& rows) { return block_of(rows, rows.begin / kKeyBlock); }

  void take(const Rows& rows) {
    first_head_ = rows.first_head;
    lines_of_keys_ = cache_lines_of<Cached>(rows.heads * widths_.of_keys);
    lines_of_values_ = cache_lines_of<Cached>(rows.heads * widths_.of_values);
    rows_ = std::max<int64_t>(0, rows.end - rows.begin);
    runs_begun_ = run_lines_ = 0;
    if (rows_ > 0) {
      const int64_t stride = settings_.visibility.stride;
      list_rows(call_.memory, {rows.sequence, rows.residue + rows.begin * stride, rows_, stride}, row_list_);
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

  // The keys of a row, then its values, and so on; false after the last row.
  HWY_NOINLINE bool begin_run() {
    if (runs_begun_ == 2 * rows_) {
      return false;
    }
    const int64_t row = row_list_[runs_begun_ / 2];
    if (runs_begun_++ % 2 == 0) {
      run_ = bytes_of(keys_.row(row) + first_head_ * widths_.of_keys);
      run_lines_ = lines_of_keys_;
      prefetch_scales(row);
    } else {
      run_ = bytes_of(values_.row(row) + first_head_ * widths_.of_values);
      run_lines_ = lines_of_values_;
    }
    return true;
  }

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

  Rows own_, next_piece_;  // all of this share's piece, and of the next one
  // Of the rows that are prefetched during this block:
  int64_t rows_ = 0, first_head_ = 0, lines_of_keys_ = 0, lines_of_values_ = 0, lines_of_step_ = 0;
  int64_t runs_begun_ = 0;
  const std::byte* run_ = nullptr;  // what is left of the keys or values of a row
  int64_t run_lines_ = 0;
};

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
