// The innermost loops of a product, one set per instruction set.
#pragma once

#include <cstdint>

#include "base/rounding.h"
#include "kernels/calls/write.h"
#include "kernels/cpu/product/product.h"

namespace heed::cpu {

// A block of A as the inner loop reads it: element (row, step) is at data + row * row_stride + step * step_stride. A
// step is one k, or a pair of them.
struct LeftBlock {
  const float* data;
  int64_t row_stride, step_stride;
};

// Neighbouring panels of B from some step on, each `distance` elements after the previous one.
struct RightBlock {
  const float* data;
  int64_t panels, distance;
};

// While a word of a panel in memory is multiplied, the one this many words later is fetched: what the processor fetches
// by itself comes too late.
constexpr int64_t kWordsAhead = 1024;

// tile[rows, columns of the panels] = or += A block x panels, over `steps` steps.
using TileProduct = void (*)(int64_t rows, int64_t steps, const LeftBlock& a, const RightBlock& b, float* tile,
                             int64_t stride, Write write);

// Panels [first_panel, +panels) of B, steps [first_step, +steps), each panel `distance` elements after the previous
// one.
struct PanelBlock {
  int64_t first_panel, panels, first_step, steps, distance;
};

// A block of a matrix's columns, to be split into strips of `strip` columns, a whole number of panel rows, each
// [steps][stride], each strip `distance` after the previous one. After the block's columns come the matrix's next ones,
// or zeros.
struct ColumnBlock {
  int64_t first_step, steps, first_column, columns, strip, stride, distance;
};

// The stride between steps of a transposed A that was packed into scratch: an odd number of cache lines, so that a
// tile's steps do not all fall into a few sets of the cache.
constexpr int64_t left_stride(int64_t rows) { return round_up(rows, 32) + 16; }

// Values of k per pass. A tile's rows stay in the first-level cache while panels of this depth stream past. A
// transposed A is read one cache line per step, and a tile of few rows uses less than half of it: blocks are shorter
// where tiles have few rows.
struct DepthBlocks {
  int64_t plain, transposed;
};

struct ProductKernels {
  int64_t tile_rows, panel_columns;
  DepthBlocks depth_blocks;
  TileProduct multiply, multiply_halves;
  void (*pack_panels)(const Operand& b, Element element, const PanelBlock& block, float* to);
  // Rows [first_row, +rows), steps [first_step, +steps) of A, packed into `scratch`, which has room for
  // left_stride(rows) by steps, unless A can be read in place.
  LeftBlock (*pack_left)(const Operand& a, Element element, int64_t first_row, int64_t rows, int64_t first_step,
                         int64_t steps, float* scratch);
  void (*add_up)(const float* from, int64_t count, float* to);  // to += from
  // Converts a panel of f32 that hold bf16 values to halves.
  void (*halve)(const float* from, int64_t steps, float* to);
};

const ProductKernels& product_kernels();  // of the best instruction set here

// What Highway cannot express, by AVX-512's vdpbf16ps or ARM's BFMMLA; only where has_bf16_pairs(), with tile_rows 12.
// Panels of pairs have kHalfPanelRows columns.
void multiply_bf16_pairs(int64_t rows, int64_t steps, const LeftBlock& a, const RightBlock& b, float* tile,
                         int64_t stride, Write write);
// The strips of a block; one step holds the pairs that two rows form, column by column.
void write_bf16_pair_strips(const HostView<const bf16>& from, const ColumnBlock& block, float* to);

}  // namespace heed::cpu
