// Terms of the scores by distance: the keys of a block are neighbours, so that a row of scores needs neighbouring
// columns of a table, except where distances beyond the table's ends take the columns there.

#if defined(HEED_KERNELS_CPU_ATTENTION_DISTANCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_DISTANCE_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_DISTANCE_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_DISTANCE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_rows-inl.h"
#include "kernels/cpu/attention/attention_share-inl.h"
#include "kernels/cpu/attention/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// A table by distance, of const float; or what is written like one, of float: its gradient, or the mass.
template <class Float>
struct DistanceTable {
  DistanceTable() = default;
  template <class AnyView>
  DistanceTable(const AttentionSettings& settings, const AnyView& view, int64_t first_row_of_heads = 0)
      : of(settings.by_distance.of),
        columns(settings.by_distance.distances),
        first(settings.by_distance.first),
        first_row(first_row_of_heads) {
    if (!view.empty()) {
      table = host<float>(view);
    }
  }

  bool empty() const { return table.data == nullptr; }
  Float* row(int64_t query_row, int64_t head) const {
    return of == TableOf::head ? table.row(first_row + head) : table.row(query_row) + head * columns;
  }

  HostView<Float> table{};
  TableOf of = TableOf::head;
  int64_t columns = 0, first = 0, first_row = 0;
};

// Lane i is row[clamp(column + i, 0, columns - 1)].
HWY_INLINE Vec load_clamped(const float* row, int64_t column, int64_t columns) {
  if (column >= 0 && column + kLanes <= columns) {
    return load(row + column);
  }
  if (column + kLanes <= 1 || column >= columns - 1) {
    return hn::Set(Floats(), row[column < 0 ? 0 : columns - 1]);
  }
  float lanes[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) {
    lanes[i] = row[std::clamp<int64_t>(column + i, 0, columns - 1)];
  }
  return load(lanes);
}

// row[clamp(column + i, 0, columns - 1)] += lane i.
HWY_INLINE void add_clamped(Vec x, float* row, int64_t column, int64_t columns) {
  if (column >= 0 && column + kLanes <= columns) {
    store(hn::Add(load(row + column), x), row + column);
    return;
  }
  if (column + kLanes <= 1 || column >= columns - 1) {
    row[column < 0 ? 0 : columns - 1] += hn::GetLane(hn::SumOfLanes(Floats(), x));
    return;
  }
  float lanes[kLanes];
  store(x, lanes);
  for (int64_t i = 0; i < kLanes; ++i) {
    row[std::clamp<int64_t>(column + i, 0, columns - 1)] += lanes[i];
  }
}

// Calls body(r, row of the table, the column of the tile's first key) for each row of a tile.
template <class Float, class Body>
HWY_INLINE void for_table_rows(const ScoreTile& tile, const QueryRows& rows, int64_t first_head,
                               const DistanceTable<Float>& table, const Body& body) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t row = tile.first_row + r, head = row / rows.queries(), query = row - head * rows.queries();
    body(r, table.row(rows.query_row(query), first_head + head),
         tile.first_key - (rows.first_position() + query) - table.first);
  }
}

// Calls body(row of the table, i) for rows [first, first + count) of a share, each of which has its own.
template <class Body>
HWY_INLINE void for_own_rows(const QueryRows& rows, int64_t first_head, const DistanceTable<float>& table,
                             int64_t first, int64_t count, const Body& body) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t head = (first + i) / rows.queries(), query = first + i - head * rows.queries();
    body(table.row(rows.query_row(query), first_head + head), i);
  }
}

// Clears all rows of a share.
inline void clear_own_rows(const QueryRows& rows, int64_t first_head, const DistanceTable<float>& table) {
  for_own_rows(rows, first_head, table, 0, rows.rows(),
               [&table](float* row, int64_t) { std::fill_n(row, table.columns, 0.0F); });
}

// Row first + i of a share is multiplied by factors[i].
inline void scale_own_rows(const QueryRows& rows, int64_t first_head, const DistanceTable<float>& table, int64_t first,
                           int64_t count, const float* factors) {
  for_own_rows(rows, first_head, table, first, count, [&](float* row, int64_t i) {
    for (int64_t c = 0; c < table.columns; ++c) {
      row[c] *= factors[i];
    }
  });
}

// scores += factor * table, for the vectors that the rows need.
inline void add_by_distance(const ScoreTile& tile, const QueryRows& rows, int64_t first_head,
                            const DistanceTable<const float>& table, float factor, float* scores) {
  const Vec factors = hn::Set(Floats(), factor);
  for_table_rows(tile, rows, first_head, table, [&](int64_t r, const float* from, int64_t column) HWY_ATTR {
    for (int64_t v = tile.vectors[r].begin; v < tile.vectors[r].end; ++v) {
      float* const score = panel_at(scores, r, v);
      store(hn::MulAdd(load_clamped(from, column + v * kLanes, table.columns), factors, load(score)), score);
    }
  });
}

// table += factor * scores, which are zeros for keys that are not seen: the gradient of a table, or the mass.
inline void add_to_table(const ScoreTile& tile, const QueryRows& rows, int64_t first_head,
                         const DistanceTable<float>& table, float factor, const float* scores) {
  const Vec factors = hn::Set(Floats(), factor);
  for_table_rows(tile, rows, first_head, table, [&](int64_t r, float* to, int64_t column) HWY_ATTR {
    for (int64_t v = tile.vectors[r].begin; v < tile.vectors[r].end; ++v) {
      add_clamped(hn::Mul(load(panel_at(scores, r, v)), factors), to, column + v * kLanes, table.columns);
    }
  });
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_DISTANCE_INL_H_
