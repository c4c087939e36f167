// How a product's result is split into the parts that the workers compute.
#pragma once

#include <cstdint>

#include "base/rounding.h"

namespace heed::cpu {

// The columns of one part, at least and at most.
constexpr int64_t kSmallestTileColumns = 64;
constexpr int64_t kLargestTileColumns = 256;

// The rows of a register tile, at most `most`: `rows` rows are cut into as few tiles as that allows, of about equal
// height, since a tile of few rows takes as long to read its columns as a high one.
constexpr int64_t tile_height(int64_t rows, int64_t most) {
  return rows <= most ? rows : ceil_div(rows, ceil_div(rows, most));
}

int64_t second_level_cache();  // of a core, in bytes

struct Region {
  int64_t first_row, rows, first_column, columns;
};

// The part of C that each task computes. Every worker has an equal share of the rows, split between register tiles, and
// the same number of tasks: about the rows that it has in the ops before and after. Within a share, neighbouring tasks
// have the same columns, whose panels are in the core's cache by then. Where rows are few, as in decoding, there is one
// share, so that only one worker reads a column's panel.
class TileOrder {
 public:
  struct Sizes {
    int64_t rows, columns;  // of C
    int64_t unit;           // rows are split between multiples of it
    int64_t tile_columns;   // the maximum of one task
    int threads;
  };
  explicit TileOrder(const Sizes& sizes);

  int64_t tasks() const;
  Region at(int64_t task) const;

 private:
  int64_t rows_, columns_;
  int64_t unit_, units_;
  int64_t shares_, row_tiles_, tile_columns_;
};

}  // namespace heed::cpu
