#include "kernels/cpu/product/tile_order.h"

#include <unistd.h>

#include <algorithm>

namespace heed::cpu {
namespace {

constexpr int64_t kTileRows = 144;
constexpr int64_t kSmallestTileRows = 24;
constexpr int64_t kFewestTasksPerThread = 5;

// Rows are few where B has at least this many times as many columns.
constexpr int64_t kColumnsToFewRows = 8;

struct Range {
  int64_t begin, end;
};

Range part_of(Range whole, int64_t part, int64_t parts) {
  const int64_t length = whole.end - whole.begin;
  return {whole.begin + part * length / parts, whole.begin + (part + 1) * length / parts};
}

}  // namespace

int64_t second_level_cache() {
  static const int64_t kBytes = [] {
    const int64_t known = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return known > 0 ? known : int64_t{512} << 10;
  }();
  return kBytes;
}

TileOrder::TileOrder(const Sizes& sizes)
    : rows_(sizes.rows),
      columns_(sizes.columns),
      unit_(sizes.unit),
      units_(ceil_div(rows_, unit_)),
      tile_columns_(sizes.tile_columns) {
  const bool few_rows = rows_ * kColumnsToFewRows <= columns_;
  shares_ = few_rows ? 1 : std::clamp<int64_t>(units_, 1, sizes.threads);
  const int64_t units_of_share = std::max<int64_t>(1, units_ / shares_);
  row_tiles_ = std::min(units_of_share, ceil_div(ceil_div(units_, shares_), kTileRows / unit_));
  // Split until there are enough tasks to balance the load. Rows first: with few columns, a task would load its part
  // of A into cache for little work.
  const auto too_few = [&] { return sizes.threads > 1 && tasks() < kFewestTasksPerThread * sizes.threads; };
  while (!few_rows && too_few() && 2 * row_tiles_ * kSmallestTileRows <= units_of_share * unit_) {
    row_tiles_ *= 2;
  }
  while (too_few() && tile_columns_ > kSmallestTileColumns) {
    tile_columns_ /= 2;
  }
}

int64_t TileOrder::tasks() const { return shares_ * row_tiles_ * ceil_div(columns_, tile_columns_); }

Region TileOrder::at(int64_t task) const {
  const int64_t tasks_of_share = tasks() / shares_, task_in_share = task % tasks_of_share;
  const Range share = part_of({0, units_}, task / tasks_of_share, shares_);
  const Range tile = part_of(share, task_in_share % row_tiles_, row_tiles_);
  const int64_t column = task_in_share / row_tiles_ * tile_columns_;
  const int64_t first_row = tile.begin * unit_;
  return {first_row, std::min(tile.end * unit_, rows_) - first_row, column, std::min(tile_columns_, columns_ - column)};
}

}  // namespace heed::cpu
