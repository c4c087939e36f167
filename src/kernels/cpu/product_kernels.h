// The innermost loops of a product, one set per instruction set.
#pragma once

#include <cstdint>

#include "kernels/calls.h"
#include "kernels/cpu/product.h"

namespace heed::cpu {

// A block of A as the inner loop reads it: of tile t (tile_rows rows), element (row, step) lies at
// data + t * tile_stride + row * row_stride + step * step_stride. A step is one k, or a pair of them.
struct LeftBlock {
  const float* data;
  int64_t row_stride, step_stride, tile_stride;
};

// tile[rows, panel columns] = or += A block x one panel, over `steps` steps.
using TileProduct = void (*)(int64_t rows, int64_t steps, const LeftBlock& a, const float* panel, float* tile,
                             int64_t stride, Write write);

// Panels [first_panel, +panels) of B, steps [first_step, +steps), each panel `distance` elements behind the one before.
struct PanelBlock {
  int64_t first_panel, panels, first_step, steps, distance;
};

// A block of a matrix's columns, to be cut into strips of `strip` columns, a whole number of panel rows, each [steps][stride],
// the next strip `distance` behind. Beyond the block's columns there are the matrix's own next ones, or zeros.
struct ColumnBlock {
  int64_t first_step, steps, first_column, columns, strip, stride, distance;
};

// From one step to the next of a transposed A that was brought into scratch: an odd number of cache lines, so that a tile's
// steps do not all fall on a few sets of the cache.
constexpr int64_t left_stride(int64_t rows) { return (rows + 31) / 32 * 32 + 16; }

// k's per pass. A tile's rows stay in the first-level cache while panels of this depth stream past. A transposed A is read a
// cache line a step, of which a narrow tile uses less than half: its blocks are shorter where tiles are narrow.
struct DepthBlocks {
  int64_t straight, transposed;
};

struct ProductKernels {
  int64_t tile_rows, panel_columns;
  DepthBlocks depth_blocks;
  TileProduct multiply, multiply_halves;
  void (*pack_panels)(const Operand& b, Element element, const PanelBlock& block, float* to);
  // Rows [first_row, +rows), steps [first_step, +steps) of A, brought into `scratch`, which has room for left_stride(rows) by
  // steps, unless A can be read where it lies.
  LeftBlock (*pack_left)(const Operand& a, Element element, int64_t first_row, int64_t rows, int64_t first_step,
                         int64_t steps, float* scratch);
  void (*add_up)(const float* from, int64_t count, float* to);  // to += from
  // A panel of f32 that hold bf16, to halves.
  void (*halve)(const float* from, int64_t steps, float* to);
};

const ProductKernels& product_kernels();  // of the best instruction set here

// What Highway cannot say; only where has_bf16_pairs(), with tile_rows 12 and panel_columns 32. vdpbf16ps on 12 rows x 2
// vectors of 16 columns:
void multiply_pairs_avx512bf16(int64_t rows, int64_t steps, const LeftBlock& a, const float* panel, float* tile,
                               int64_t stride, Write write);
// The strips of a block, whose step is the pairs that two rows form, column by column.
void write_pair_strips_avx512bf16(const HostView<bf16>& from, const ColumnBlock& block, float* to);

}  // namespace heed::cpu
