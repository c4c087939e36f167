#include "kernels/cpu/product/product_integers.h"

#include <algorithm>

#include "base/errors.h"
#include "kernels/cpu/product/integer_kernels.h"
#include "kernels/cpu/product/product_kernels.h"
#include "kernels/cpu/product/tile_order.h"

namespace heed::cpu {
namespace {

// Fewer values than this are quantized by each task for itself: that takes less time than to wait for each other.
constexpr int64_t kSharedQuantization = 8 * 1024;

// Memory for rows in quantized form, and their scales.
struct RowsMemory {
  uint32_t* words;
  float* scales;
  int64_t stride;

  static int64_t elements(const IntegerPanels& b, int64_t rows) { return rows * (stride_of(b) + 1); }
  static RowsMemory at(float* memory, const IntegerPanels& b, int64_t rows) {
    return {reinterpret_cast<uint32_t*>(memory), memory + rows * stride_of(b), stride_of(b)};
  }
  RowsMemory from(int64_t row) const { return {words + row * stride, scales + row, stride}; }

 private:
  static int64_t stride_of(const IntegerPanels& b) { return integer_kernels(b.bits).row_words(b.depth); }
};

IntegerRows quantize_rows(const IntegerPanels& b, const ConstView& a, int64_t first, int64_t count,
                          const RowsMemory& to) {
  for (int64_t r = 0; r < count; ++r) {
    to.scales[r] = integer_kernels(b.bits).quantize(a, first + r, b.input_scale, to.words + r * to.stride);
  }
  return {to.words, to.stride, to.scales};
}

IntegerRows rows_from(const IntegerRows& all, int64_t first) {
  return {all.words + first * all.stride, all.stride, all.scales + first};
}

// The columns from this one on that a kernel takes together.
IntegerPanel panel_at(const IntegerPanels& b, int64_t column) {
  const int64_t panel = column / kPanelRows, first = column % kPanelRows;
  if (b.bits == IntegerBits::eight) {
    return {.words = b.words + panel * int8_panel_words(b.depth) + first,
            .scales = b.scales + column,
            .sums = b.sums + column,
            .depth = b.depth};
  }
  const int64_t panel_words = b.bits == IntegerBits::four ? int4_panel_words(b.depth) : int8_panel_words(b.depth);
  return {.words = b.words + panel * panel_words + first,
          .group_scales = b.group_scales + panel * kPanelRows * (b.depth / b.group) + first,
          .group_scale_type = b.group_scale_type,
          .depth = b.depth,
          .group = b.group};
}

// A region of C, of which `a` holds the rows; `tile` has room for one row tile.
void multiply_region(const IntegerRows& a, const IntegerPanels& b, const Region& region, Sink sink, float* tile) {
  const IntegerKernels& kernels = integer_kernels(b.bits);
  const int64_t width = kernels.columns;
  const int64_t height = tile_height(region.rows, product_kernels().tile_rows);
  const int64_t stride = round_up(region.columns, width);
  for (int64_t row = 0; row < region.rows; row += height) {
    const int64_t rows = std::min(height, region.rows - row);
    for (int64_t column = 0; column < region.columns; column += width) {
      kernels.multiply(rows, rows_from(a, row), panel_at(b, region.first_column + column), tile + column, stride);
    }
    sink.take(sink.context, {tile, stride, region.first_row + row, rows, region.first_column, region.columns});
  }
}

int64_t tile_elements(const IntegerPanels& b, int64_t columns) {
  return product_kernels().tile_rows * round_up(columns, integer_kernels(b.bits).columns);
}

// Panels of one task take half of the core's cache.
int64_t tile_columns(int64_t depth) {
  const int64_t fit = second_level_cache() / 2 / std::max<int64_t>(1, depth);
  return std::clamp(fit / kSmallestTileColumns * kSmallestTileColumns, kSmallestTileColumns, kLargestTileColumns);
}

// The workers quantize all rows before they multiply.
IntegerRows quantize_all(Context& context, const ConstView& a, const IntegerPanels& b) {
  const RowsMemory memory =
      RowsMemory::at(context.shared_scratch.reserve<float>(RowsMemory::elements(b, a.rows())), b, a.rows());
  const RowTasks tasks(a.rows(), a.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    const int64_t first = tasks.begin(task);
    quantize_rows(b, a, first, tasks.end(task) - first, memory.from(first));
  });
  return {memory.words, memory.stride, memory.scales};
}

// Rows of A that were quantized for all tasks, or this task's own, quantized now.
void multiply_task(Scratch& scratch, const ConstView& a, const IntegerRows& shared, const IntegerPanels& b,
                   const Region& region, Sink sink) {
  const bool own = shared.words == nullptr;
  const int64_t own_elements = own ? RowsMemory::elements(b, region.rows) : 0;
  float* const tile = scratch.reserve<float>(tile_elements(b, region.columns) + own_elements);
  const IntegerRows rows = own ? quantize_rows(b, a, region.first_row, region.rows,
                                               RowsMemory::at(tile + tile_elements(b, region.columns), b, region.rows))
                               : rows_from(shared, region.first_row);
  multiply_region(rows, b, region, sink, tile);
}

}  // namespace

void multiply(Context& context, const Operand& a, const IntegerPanels& b, Sink sink) {
  ensure(a.layout == Layout::plain && a.columns() == b.depth, "product", "{} columns against {} rows", a.columns(),
         b.depth);
  const int threads = context.pool.threads();
  const TileOrder order({a.rows(), b.columns, product_kernels().tile_rows, tile_columns(b.depth), threads});
  const bool shared = threads == 1 || a.rows() * b.depth > kSharedQuantization;
  const IntegerRows all = shared ? quantize_all(context, a.matrix, b) : IntegerRows{};
  context.pool.run(order.tasks(), [&](int64_t task, int worker) {
    multiply_task(context.scratch(worker), a.matrix, all, b, order.at(task), sink);
  });
}

void multiply_rows(Scratch& scratch, const Operand& a, const IntegerPanels& b, int64_t first_row, int64_t rows,
                   Sink sink) {
  const int64_t columns = std::min(b.columns, tile_columns(b.depth));
  float* const tile = scratch.reserve<float>(tile_elements(b, columns) + RowsMemory::elements(b, rows));
  const IntegerRows quantized =
      quantize_rows(b, a.matrix, first_row, rows, RowsMemory::at(tile + tile_elements(b, columns), b, rows));
  for (int64_t column = 0; column < b.columns; column += columns) {
    multiply_region(quantized, b, {first_row, rows, column, std::min(columns, b.columns - column)}, sink, tile);
  }
}

}  // namespace heed::cpu
