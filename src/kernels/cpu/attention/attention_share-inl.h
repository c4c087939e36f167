// A group of rows of queries against a block of keys.

#if defined(HEED_KERNELS_CPU_ATTENTION_SHARE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_SHARE_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_SHARE_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_SHARE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_rows-inl.h"
#include "kernels/cpu/attention/attention_tile-inl.h"
#include "kernels/cpu/elementwise/soft_cap-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// Which of the keys the rows see, and hence which vectors of scores are computed.
struct ScoreTile {
  ScoreTile(const QueryRows& query_range, int64_t first_of_rows, int64_t first_of_keys, int64_t key_count)
      : first_row(first_of_rows),
        rows(std::min(kRowGroup, query_range.rows() - first_of_rows)),
        first_key(first_of_keys),
        keys(key_count) {
    const Sight& sight = query_range.sight(first_row);
    if (sight.all.begin <= first_key && sight.all.end >= first_key + keys) {
      seen_by_any = kAllKeys >> (kKeyBlock - keys);
      std::fill_n(seen, rows, seen_by_any);
      std::fill_n(vectors, rows, span_of(0, rows));
    } else if (sight.any.begin >= first_key + keys || sight.any.end <= first_key) {
      std::fill_n(seen, rows, 0);
      std::fill_n(vectors, rows, Span{0, 0});
    } else {
      look(query_range);
    }
  }

  // From the first to the last key that rows [row, row + count) see.
  Steps keys_of(int64_t row, int64_t count) const { return steps_of_bits(union_of(seen + row, count)); }

  // From the first to the last row that sees one of the keys [key, key + count).
  Steps rows_of(int64_t key, int64_t count) const {
    const uint64_t wanted = (~uint64_t{0} >> (kKeyBlock - count)) << key;
    Steps found{0, rows};
    while (found.begin < found.end && (seen[found.begin] & wanted) == 0) {
      ++found.begin;
    }
    while (found.begin < found.end && (seen[found.end - 1] & wanted) == 0) {
      --found.end;
    }
    return found;
  }

  int64_t first_row, rows, first_key, keys;
  uint64_t seen[kRowGroup];  // per row: one bit a key
  Span vectors[kRowGroup];   // per row: those that are computed
  uint64_t seen_by_any = 0;

 private:
  // The vectors that hold all keys seen by rows [row, row + count).
  Span span_of(int64_t row, int64_t count) const {
    const Steps needed = keys_of(row, count);
    return {static_cast<uint8_t>(needed.begin / kLanes), static_cast<uint8_t>(vectors_for(needed.end))};
  }

  void look(const QueryRows& query_range) {
    uint64_t seen_by_all = kAllKeys;
    for (int64_t r = 0; r < rows; ++r) {
      seen[r] = query_range.query_of(first_row + r).seen_bits(first_key);
      seen_by_all &= seen[r];
      seen_by_any |= seen[r];
    }
    // The rows of one register tile share their vectors; where all rows see the same keys, all rows do.
    const int64_t together = seen_by_all == seen_by_any ? rows : max_rows(kMaxVectors);
    for (int64_t r = 0; r < rows; r += together) {
      const int64_t count = std::min(together, rows - r);
      std::fill_n(vectors + r, count, span_of(r, count));
    }
  }
};

// One panel of the columns of a run of rows that need the same vectors of scores.
struct RunPanel {
  int64_t first, rows;  // of the tile
  Span vectors;
  int64_t panel, columns;
  Sums::Start start;  // zero for the first panel
};

// Calls body(run panel) for all runs of a tile's rows, where queries and keys have `width` columns.
template <class Body>
HWY_INLINE void for_each_run(const ScoreTile& tile, int64_t width, const Body& body) {
  for (int64_t first = 0, end = 0; first < tile.rows; first = end) {
    const Span vectors = tile.vectors[first];
    for (end = first + 1; end < tile.rows && tile.vectors[end] == vectors; ++end) {
    }
    for (int64_t panel = 0; panel < panels_for(width); ++panel) {
      body(RunPanel{first, end - first, vectors, panel, panel_columns(width, panel),
                    panel == 0 ? Sums::Start::zero : Sums::Start::former});
    }
  }
}

// s = cap * tanh(s / cap) of scores in base 2, for the vectors that the rows need. Where `slopes` is not null, it gets
// 1 - (s / cap)^2.
inline void cap_scores(const ScoreTile& tile, const AttentionSettings& settings, float* scores,
                       float* slopes = nullptr) {
  const SoftCapping cap(static_cast<float>(settings.score_cap) * kLog2E);
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t v = tile.vectors[r].begin; v < tile.vectors[r].end; ++v) {
      const Vec capped = cap.of(load(panel_at(scores, r, v)));
      store(capped, panel_at(scores, r, v));
      if (slopes != nullptr) {
        store(cap.slope_at(capped), panel_at(slopes, r, v));
      }
    }
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_SHARE_INL_H_
