#include "kernels/cpu/product/tile_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace heed::cpu {
namespace {

constexpr int64_t kUnit = 12, kColumnsOfTask = 256;

TileOrder order_of(int64_t rows, int64_t columns, int threads) {
  return TileOrder({rows, columns, kUnit, kColumnsOfTask, threads});
}

TEST(TileOrder, EachElementBelongsToOneTask) {
  for (const int64_t rows : {1, 8, 12, 13, 100, 700}) {
    for (const int64_t columns : {64, 500, 4096}) {
      const TileOrder order = order_of(rows, columns, 3);
      std::vector<int> written(static_cast<size_t>(rows * columns), 0);
      for (int64_t task = 0; task < order.tasks(); ++task) {
        const Region part = order.at(task);
        for (int64_t r = 0; r < part.rows; ++r) {
          for (int64_t c = 0; c < part.columns; ++c) {
            ++written[static_cast<size_t>((part.first_row + r) * columns + part.first_column + c)];
          }
        }
      }
      EXPECT_EQ(std::ranges::count(written, 1), rows * columns) << rows << " rows, " << columns << " columns";
    }
  }
}

TEST(TileOrder, OnlyOneTaskReadsAPanelWhereRowsAreFew) {
  const TileOrder order = order_of(64, 2048, 2);
  std::set<int64_t> first_columns;
  for (int64_t task = 0; task < order.tasks(); ++task) {
    EXPECT_EQ(order.at(task).rows, 64);
    EXPECT_TRUE(first_columns.insert(order.at(task).first_column).second);
  }
}

TEST(TileOrder, WorkersShareManyRows) {
  const TileOrder order = order_of(2048, 512, 2);
  EXPECT_EQ(order.at(0).first_row, 0);
  EXPECT_EQ(order.at(order.tasks() / 2).first_row, 1020);  // the unit that is nearest to half
}

TEST(TileHeight, CutsRowsIntoAsFewTilesAsPossibleOfAboutEqualHeight) {
  EXPECT_EQ(tile_height(5, 6), 5);
  EXPECT_EQ(tile_height(6, 6), 6);
  EXPECT_EQ(tile_height(8, 6), 4);
  EXPECT_EQ(tile_height(64, 12), 11);
}

}  // namespace
}  // namespace heed::cpu
