#include "kernels/cpu/product_int8.h"

#include <algorithm>

#include "base/errors.h"
#include "kernels/cpu/product_int8_kernels.h"
#include "kernels/cpu/product_kernels.h"
#include "kernels/cpu/tile_order.h"

namespace heed::cpu {
namespace {

// Fewer values than this are quantized by each task for itself: that takes less time than to wait for each other.
constexpr int64_t kSharedQuantization = 8 * 1024;

int64_t row_words(int64_t depth) { return int8_steps(depth) * int8_kernels().words_per_step; }

// Memory for rows in quantized form, and their scales.
struct RowsMemory {
  uint32_t* words;
  float* scales;

  static int64_t elements(int64_t rows, int64_t depth) { return rows * (row_words(depth) + 1); }
  static RowsMemory at(float* memory, int64_t rows, int64_t depth) {
    return {reinterpret_cast<uint32_t*>(memory), memory + rows * row_words(depth)};
  }
};

Int8Rows quantize_rows(const View& a, int64_t first, int64_t count, const RowsMemory& to) {
  const int64_t stride = row_words(a.columns());
  for (int64_t r = 0; r < count; ++r) {
    to.scales[r] = int8_kernels().quantize(a, first + r, to.words + r * stride);
  }
  return {to.words, stride, to.scales};
}

Int8Rows rows_from(const Int8Rows& all, int64_t first) {
  return {all.words + first * all.stride, all.stride, all.scales + first};
}

Int8Panels columns_from(const Int8Panels& b, int64_t first) {
  return {b.words, b.scales + first, b.sums + first, b.depth, b.columns};
}

// A region of C, of which `a` holds the rows; `sums` has room for one row tile.
void multiply_region(const Int8Rows& a, const Int8Panels& b, const Region& region, Sink sink, int32_t* sums) {
  const Int8Kernels& kernels = int8_kernels();
  const int64_t width = product_kernels().panel_columns, tile_rows = product_kernels().tile_rows;
  const int64_t steps = int8_steps(b.depth), stride = round_up(region.columns, width);
  for (int64_t row = 0; row < region.rows; row += tile_rows) {
    const int64_t rows = std::min(tile_rows, region.rows - row);
    const Int8Rows tile = rows_from(a, row);
    for (int64_t column = 0; column < region.columns; column += width) {
      const uint32_t* const panel = b.words + int8_panel_words(b.depth, region.first_column + column);
      kernels.multiply(rows, steps, tile, panel, sums + column, stride);
    }
    kernels.finish(rows, region.columns, tile, columns_from(b, region.first_column), stride, sums);
    sink.take(sink.context, {reinterpret_cast<const float*>(sums), stride, region.first_row + row, rows,
                             region.first_column, region.columns});
  }
}

int64_t tile_elements(int64_t columns) {
  return product_kernels().tile_rows * round_up(columns, product_kernels().panel_columns);
}

// Panels of one task take half of the core's cache.
int64_t tile_columns(int64_t depth) {
  const int64_t fit = second_level_cache() / 2 / std::max<int64_t>(1, depth);
  return std::clamp(fit / kSmallestTileColumns * kSmallestTileColumns, kSmallestTileColumns, kLargestTileColumns);
}

// The workers quantize all rows before they multiply.
Int8Rows quantize_all(Context& context, const View& a) {
  const RowsMemory memory = RowsMemory::at(
      context.shared_scratch.reserve<float>(RowsMemory::elements(a.rows(), a.columns())), a.rows(), a.columns());
  const int64_t stride = row_words(a.columns());
  const RowTasks tasks(a.rows(), a.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    const int64_t first = tasks.begin(task);
    quantize_rows(a, first, tasks.end(task) - first, {memory.words + first * stride, memory.scales + first});
  });
  return {memory.words, stride, memory.scales};
}

// Rows of A that were quantized for all tasks, or this task's own, quantized now.
void multiply_task(Scratch& scratch, const View& a, const Int8Rows& shared, const Int8Panels& b, const Region& region,
                   Sink sink) {
  const bool own = shared.words == nullptr;
  const int64_t own_elements = own ? RowsMemory::elements(region.rows, b.depth) : 0;
  float* const tile = scratch.reserve<float>(tile_elements(region.columns) + own_elements);
  float* const behind = tile + tile_elements(region.columns);
  const Int8Rows rows =
      own ? quantize_rows(a, region.first_row, region.rows, RowsMemory::at(behind, region.rows, b.depth))
          : rows_from(shared, region.first_row);
  multiply_region(rows, b, region, sink, reinterpret_cast<int32_t*>(tile));
}

}  // namespace

int64_t int8_steps(int64_t depth) { return ceil_div(depth, 4); }

int64_t int8_panel_words(int64_t depth, int64_t columns) {
  return round_up(columns, product_kernels().panel_columns) * int8_steps(depth);
}

void multiply(Context& context, const Operand& a, const Int8Panels& b, Sink sink) {
  ensure(a.layout == Layout::plain && a.columns() == b.depth, "product", "{} columns against {} rows", a.columns(),
         b.depth);
  const int threads = context.pool.threads();
  const TileOrder order({a.rows(), b.columns, product_kernels().tile_rows, tile_columns(b.depth), threads});
  const bool shared = threads == 1 || a.rows() * b.depth > kSharedQuantization;
  const Int8Rows all = shared ? quantize_all(context, a.matrix) : Int8Rows{};
  context.pool.run(order.tasks(), [&](int64_t task, int worker) {
    multiply_task(context.scratch(worker), a.matrix, all, b, order.at(task), sink);
  });
}

void multiply_rows(Scratch& scratch, const Operand& a, const Int8Panels& b, int64_t first_row, int64_t rows,
                   Sink sink) {
  const int64_t columns = std::min(b.columns, tile_columns(b.depth));
  float* const tile = scratch.reserve<float>(tile_elements(columns) + RowsMemory::elements(rows, b.depth));
  const Int8Rows quantized =
      quantize_rows(a.matrix, first_row, rows, RowsMemory::at(tile + tile_elements(columns), rows, b.depth));
  for (int64_t column = 0; column < b.columns; column += columns) {
    multiply_region(quantized, b, {first_row, rows, column, std::min(columns, b.columns - column)}, sink,
                    reinterpret_cast<int32_t*>(tile));
  }
}

}  // namespace heed::cpu
