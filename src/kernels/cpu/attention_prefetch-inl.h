// Prefetching keys and values.

#if defined(HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/prefetch_level.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// Values of a cache line.
template <class T>
constexpr int64_t kPerCacheLine = 64 / static_cast<int64_t>(sizeof(T));

// The cache lines of a row's columns, if it begins with one.
template <class T>
constexpr int64_t cache_lines_of(int64_t columns) {
  return (columns + kPerCacheLine<T> - 1) / kPerCacheLine<T>;
}

// Starts loading cache lines [first, end) of a row.
template <class T>
HWY_INLINE void prefetch_lines(const T* row, int64_t first, int64_t end, CacheLevel level) {
  for (int64_t line = first; line < end; ++line) {
    const T* const at = row + line * kPerCacheLine<T>;
    level == CacheLevel::first ? __builtin_prefetch(at, 0, 3) : __builtin_prefetch(at, 0, 2);
  }
}

// Prefetches the rows of keys and values of pieces of few rows. A head's part of a row is only a cache line or two: read
// head by head, each would be waited for. So while a block is computed, the rows of the next one are prefetched, those of
// all the share's heads; while the last one is, those of the next piece's first. A few lines at a time: more than the
// processor has miss buffers for would hold up its own loads.
template <class Cached>
class RowPrefetch {
 public:
  RowPrefetch(const AttentionForward& call, HeadWidths widths)
      : call_(call),
        settings_(call.settings),
        widths_(widths),
        keys_(host<Cached>(call.memory.keys)),
        values_(host<Cached>(call.memory.values)) {
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
      prefetch_to(lines_);
    }
  }

  // step() will be called this many times while the block is computed, or fewer if its rows do not see all of it.
  void begin_block(int64_t block, int64_t steps) {
    prefetch_to(lines_);
    const bool is_last = (block + 1) * kKeyBlock >= own_.end;
    take(is_last ? first_block_of(next_piece_) : block_of(own_, block + 1));
    steps_done_ = 0;
    steps_ = std::max<int64_t>(1, steps);
  }

  void step() {
    ++steps_done_;
    prefetch_to(steps_done_ * lines_ / steps_);
  }

 private:
  static constexpr bool kScaled = std::is_same_v<Cached, int8_t>;

  // Of a class of a sequence, for some key-value heads.
  struct Rows {
    int64_t sequence = -1, residue = 0;
    int64_t begin = 0, end = 0;
    int64_t first_head = 0, heads = 0;
  };

  Rows rows_of(const Piece& piece, int64_t first_head, int64_t heads) const {
    const ResidueClass tokens =
        class_of(settings_, *call_.segments, *call_.memory.segments, piece.sequence, piece.residue);
    const int64_t position = tokens.first_position + piece.first_query;
    const Visibility::Range seen = settings_.visibility.within_class().range(position, position, tokens.keys);
    return {piece.sequence, piece.residue, seen.begin, seen.end, first_head, heads};
  }

  static Rows block_of(Rows rows, int64_t block) {
    rows.begin = std::max(rows.begin, block * kKeyBlock);
    rows.end = std::min(rows.end, (block + 1) * kKeyBlock);
    return rows;
  }
  static Rows first_block_of(const Rows& rows) { return block_of(rows, rows.begin / kKeyBlock); }

  void take(const Rows& rows) {
    left_ = rows;
    key_lines_ = cache_lines_of<Cached>(rows.heads * widths_.of_keys);
    row_lines_ = key_lines_ + cache_lines_of<Cached>(rows.heads * widths_.of_values);
    lines_ = std::max<int64_t>(0, rows.end - rows.begin) * row_lines_;
    lines_done_ = row_line_ = 0;
  }

  // The first `end` lines of what was taken.
  void prefetch_to(int64_t end) {
    end = std::min(end, lines_);
    while (lines_done_ < end) {
      const int64_t count = std::min(row_lines_ - row_line_, end - lines_done_);
      prefetch_part_of_row(row_line_, row_line_ + count);
      lines_done_ += count;
      row_line_ += count;
      if (row_line_ == row_lines_) {
        row_line_ = 0;
        ++left_.begin;
      }
    }
  }

  // Of the first row left: lines of its keys, and then of its values.
  void prefetch_part_of_row(int64_t first, int64_t end) const {
    const int64_t token = left_.residue + left_.begin * settings_.visibility.stride;
    const int64_t row = call_.memory.row(left_.sequence, token);
    prefetch_lines(keys_.row(row) + left_.first_head * widths_.of_keys, first, std::min(end, key_lines_), level_);
    prefetch_lines(values_.row(row) + left_.first_head * widths_.of_values, std::max<int64_t>(0, first - key_lines_),
                   end - key_lines_, level_);
    if constexpr (kScaled) {
      if (first == 0) {
        prefetch_lines(key_scales_.row(row), 0, cache_lines_of<float>(settings_.key_value_heads), level_);
        prefetch_lines(value_scales_.row(row), 0, cache_lines_of<float>(settings_.key_value_heads), level_);
      }
    }
  }

  const AttentionForward& call_;
  const AttentionSettings& settings_;
  HeadWidths widths_;
  HostView<Cached> keys_, values_;
  HostView<float> key_scales_{}, value_scales_{};
  CacheLevel level_ = level_for_blocks();

  Rows own_, next_piece_;                                 // all of this share's piece, and of the next one
  Rows left_;                                             // of those that are prefetched during this block
  int64_t key_lines_ = 0, row_lines_ = 0, row_line_ = 0;  // of a row of them; the next line of the first row left
  int64_t lines_ = 0, lines_done_ = 0, steps_ = 1, steps_done_ = 0;
};

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
