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

// Starts loading columns of a row.
template <class T>
HWY_INLINE void prefetch_columns(const T* row, int64_t columns, CacheLevel level) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t c = 0; c < columns; c += kLine) {
    level == CacheLevel::first ? __builtin_prefetch(row + c, 0, 3) : __builtin_prefetch(row + c, 0, 2);
  }
}

// Prefetches the rows of keys and values of pieces of few rows. A head's part of a row is only a cache line or two: read
// head by head, each would be waited for. So while a block is computed, the rows of the next one are prefetched, the
// share's heads of each at once; while the last one is, those of the next piece's first.
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
      left_ = first_block_of(own_);
      prefetch_to(left_.end);
    }
  }

  // step() will be called this many times while the block is computed.
  void begin_block(int64_t block, int64_t steps) {
    const bool is_last = (block + 1) * kKeyBlock >= own_.end;
    left_ = is_last ? first_block_of(next_piece_) : block_of(own_, block + 1);
    count_ = std::max<int64_t>(0, left_.end - left_.begin);
    steps_done_ = 0;
    steps_ = std::max<int64_t>(1, steps);
  }

  void step() {
    ++steps_done_;
    prefetch_to(left_.end - count_ + steps_done_ * count_ / steps_);
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

  void prefetch_to(int64_t end) {
    for (; left_.begin < std::min(left_.end, end); ++left_.begin) {
      const int64_t token = left_.residue + left_.begin * settings_.visibility.stride;
      const int64_t row = call_.memory.row(left_.sequence, token);
      prefetch_columns(keys_.row(row) + left_.first_head * widths_.of_keys, left_.heads * widths_.of_keys, level_);
      prefetch_columns(values_.row(row) + left_.first_head * widths_.of_values, left_.heads * widths_.of_values,
                       level_);
      if constexpr (kScaled) {
        prefetch_columns(key_scales_.row(row), settings_.key_value_heads, level_);
        prefetch_columns(value_scales_.row(row), settings_.key_value_heads, level_);
      }
    }
  }

  const AttentionForward& call_;
  const AttentionSettings& settings_;
  HeadWidths widths_;
  HostView<Cached> keys_, values_;
  HostView<float> key_scales_{}, value_scales_{};
  CacheLevel level_ = level_for_blocks();

  Rows own_, next_piece_;  // all of this share's piece, and of the next one
  Rows left_;              // of those that are prefetched during this block
  int64_t count_ = 0, steps_done_ = 0, steps_ = 1;
};

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_PREFETCH_INL_H_
