#include "kernels/cpu/product.h"

#include <algorithm>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/errors.h"
#include "kernels/cpu/product_kernels.h"

namespace heed::cpu {
namespace {

constexpr int64_t kTileColumns = 256;  // of B's columns, in one task: with kDepthBlock deep panels, 512 KiB
constexpr int64_t kTileRows = 144;
constexpr int64_t kSmallestTileRows = 24;
constexpr int64_t kSmallestTileColumns = 64;
constexpr int64_t kTasksPerThread = 5;

// How much of B one task packs. Rows of the matrix are read as long as they may be.
constexpr int64_t kStraightPanels = 8, kStraightSteps = 64;
constexpr int64_t kTransposedSteps = 256;

constexpr int64_t kDepthParts = 8;
constexpr int64_t kDeepPartAtLeast = 64;      // long: a part's sums are worth keeping
constexpr int64_t kDeepElements = 128 * 256;  // small: as many elements of C are kept for every part

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
int64_t ceil_div(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

Element element_of(const Operand& b, Bf16Products products) {
  return products == Bf16Products::pairs && b.matrix.type() == DType::bf16 ? Element::pair : Element::single;
}

int64_t steps_of(int64_t depth, Element element) { return element == Element::pair ? (depth + 1) / 2 : depth; }

// Task sizes: halved until there are enough tasks for the workers to share them evenly. Rows first: a narrow tile would
// bring its part of A into cache for few columns.
struct Tiling {
  Tiling(int64_t rows, int64_t columns, int threads) {
    const auto too_few = [&] {
      return ceil_div(rows, tile_rows) * ceil_div(columns, tile_columns) < kTasksPerThread * threads;
    };
    while (threads > 1 && too_few() && tile_rows > kSmallestTileRows) {
      tile_rows = std::max(kSmallestTileRows, tile_rows / 2);
    }
    while (threads > 1 && too_few() && tile_columns > kSmallestTileColumns) {
      tile_columns /= 2;
    }
  }
  int64_t tile_rows = kTileRows, tile_columns = kTileColumns;
};

// Which tile a task is. A worker's share of the tasks is about its share of the rows, which the ops before and after share
// out alike; within it, neighbours have the same columns, whose panels lie in the core's cache by then.
struct TileOrder {
  struct Place {
    int64_t row_tile, column_tile;
  };

  int64_t tasks() const { return row_tiles * column_tiles; }
  Place at(int64_t task) const {
    const int64_t share = ((task / column_tiles + 1) * threads - 1) / row_tiles;  // whose rows begin at or before it
    const int64_t first_row = share * row_tiles / threads;
    const int64_t rows = (share + 1) * row_tiles / threads - first_row;
    const int64_t place = task - first_row * column_tiles;
    return {first_row + place % rows, place / rows};
  }

  int64_t row_tiles, column_tiles, threads;
};

struct Region {
  int64_t first_row, rows, first_column, columns;
};

// One region of C by one worker, a row tile at a time across the region's panels: the tile's part of A stays in the
// first-level cache while panels stream past from the second. Sums of depth blocks before the last are kept in scratch.
void multiply_region(Scratch& scratch, const Operand& a, const Panels& b, const Region& region, Sink sink) {
  const ProductKernels& kernels = product_kernels();
  const TileProduct product = b.element == Element::pair ? multiply_pairs_avx512bf16 : kernels.multiply;
  const int64_t width = kernels.panel_columns;
  const int64_t steps = steps_of(b.depth, b.element);
  const int64_t block_steps = steps_of(kDepthBlock, b.element);
  const bool one_block = steps <= block_steps;
  const int64_t stride = round_up(region.columns, width);
  const int64_t row_tiles = ceil_div(region.rows, kernels.tile_rows);

  const int64_t left_elements = row_tiles * kernels.left_stride * std::min(steps, block_steps);
  const int64_t sum_tiles = one_block ? 1 : row_tiles;
  float* const left = scratch.reserve<float>(left_elements + sum_tiles * kernels.tile_rows * stride);
  float* const sums = left + left_elements;

  for (int64_t step = 0; step == 0 || step < steps; step += block_steps) {
    const int64_t count = std::min(block_steps, steps - step);
    LeftBlock block = kernels.bring_left(a, b.element, region.first_row, region.rows, step, count, left);
    for (int64_t row = 0; row < region.rows; row += kernels.tile_rows) {
      const int64_t rows = std::min(kernels.tile_rows, region.rows - row);
      float* const tile = one_block ? sums : sums + row * stride;
      for (int64_t column = 0; column < region.columns; column += width) {
        const float* const panel = b.data + (region.first_column + column) * steps + step * width;
        product(rows, count, block, panel, tile + column, stride, step > 0 ? Write::add : Write::overwrite);
      }
      if (step + block_steps >= steps) {
        sink.take(sink.context, {tile, stride, region.first_row + row, rows, region.first_column, region.columns});
      }
      block.data += block.tile_stride;
    }
  }
}

// Where multiply_deep keeps one part's sums.
struct PartialSums {
  float* to;
  int64_t stride;
};

void keep_sums(const void* context, const Tile& tile) {
  const PartialSums& sums = *static_cast<const PartialSums*>(context);
  for (int64_t r = 0; r < tile.rows; ++r) {
    std::copy_n(tile.values + r * tile.stride, tile.stride, sums.to + (tile.first_row + r) * sums.stride);
  }
}

}  // namespace

bool has_bf16_pairs() {
#if defined(__x86_64__)
  // Asked of the processor itself; the operating system must also keep the wide registers.
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && product_kernels().panel_columns == 32;
#else
  return false;
#endif
}

Bf16Products fastest_bf16_products() {
#if defined(__x86_64__)
  // AMD's cores run vdpbf16ps at the rate of an f32 multiply-add, with twice the products. The Intel core that was measured
  // issues it at a quarter of that rate: there, widening to f32 is twice as fast (docs/decisions.md).
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool amd = __get_cpuid(0, &eax, &ebx, &ecx, &edx) != 0 && ebx == signature_AMD_ebx;
  if (amd && has_bf16_pairs()) {
    return Bf16Products::pairs;
  }
#endif
  return Bf16Products::widened;
}

int64_t panel_elements(const Operand& b, Bf16Products products) {
  return round_up(b.columns(), product_kernels().panel_columns) * steps_of(b.rows(), element_of(b, products));
}

Panels pack_panels(Context& context, const Operand& b, Bf16Products products, float* to) {
  const ProductKernels& kernels = product_kernels();
  const Element element = element_of(b, products);
  const int64_t steps = steps_of(b.rows(), element);
  const int64_t panels = ceil_div(b.columns(), kernels.panel_columns);
  const int64_t panels_per_task = b.lie == Lie::straight ? kStraightPanels : 1;
  const int64_t steps_per_task = b.lie == Lie::straight ? kStraightSteps : kTransposedSteps;
  const int64_t pieces = ceil_div(steps, steps_per_task);
  context.pool.run(ceil_div(panels, panels_per_task) * pieces, [&](int64_t task, int) {
    const int64_t panel = task / pieces * panels_per_task;
    const int64_t first = task % pieces * steps_per_task;
    const PanelBlock block{panel, std::min(panels_per_task, panels - panel), first,
                           std::min(steps_per_task, steps - first), steps * kernels.panel_columns};
    kernels.pack_panels(b, element, block, to + (panel * steps + first) * kernels.panel_columns);
  });
  return {to, b.rows(), b.columns(), element};
}

void multiply(Context& context, const Operand& a, const Panels& b, Sink sink) {
  ensure(a.columns() == b.depth, "product", "{} columns against {} rows", a.columns(), b.depth);
  const Tiling tiling(a.rows(), b.columns, context.pool.threads());
  const TileOrder order{ceil_div(a.rows(), tiling.tile_rows), ceil_div(b.columns, tiling.tile_columns),
                        context.pool.threads()};
  context.pool.run(order.tasks(), [&](int64_t task, int worker) {
    const auto [row_tile, column_tile] = order.at(task);
    const int64_t row = row_tile * tiling.tile_rows, column = column_tile * tiling.tile_columns;
    multiply_region(
        context.scratch(worker), a, b,
        {row, std::min(tiling.tile_rows, a.rows() - row), column, std::min(tiling.tile_columns, b.columns - column)},
        sink);
  });
}

DepthParts::DepthParts(int64_t depth) : depth_(depth), part_(round_up(ceil_div(depth, kDepthParts), 2)) {}

int64_t DepthParts::count() const { return ceil_div(depth_, std::max<int64_t>(1, part_)); }

DepthPart DepthParts::at(int64_t number) const {
  return {number, number * part_, std::min(part_, depth_ - number * part_)};
}

bool is_deep(const Operand& a, const Operand& b) {
  return a.rows() * b.columns() <= kDeepElements && b.rows() >= kDepthParts * kDeepPartAtLeast;
}

void multiply_deep(Context& context, const Operand& a, const Operand& b, Bf16Products products, Sink sink,
                   PartVisitor visitor) {
  ensure(a.lie == Lie::transposed && b.lie == Lie::straight, "product", "parts of the depth have to be rows");
  ensure(a.columns() == b.rows(), "product", "{} columns against {} rows", a.columns(), b.rows());
  const ProductKernels& kernels = product_kernels();
  const Element element = element_of(b, products);
  const DepthParts parts(b.rows());
  const int64_t stride = round_up(b.columns(), kernels.panel_columns);
  const int64_t packed = stride * parts.longest(), sums = a.rows() * stride;
  const int threads = context.pool.threads();
  float* const all_packed = context.shared_scratch.reserve<float>(threads * packed + parts.count() * sums);
  float* const all_sums = all_packed + threads * packed;

  context.pool.run(parts.count(), [&](int64_t number, int worker) {
    const DepthPart part = parts.at(number);
    const Operand a_part{a.matrix.row_range(part.first, part.depth), a.lie};
    const Operand b_part{b.matrix.row_range(part.first, part.depth), b.lie};
    const int64_t steps = steps_of(part.depth, element);
    float* const panels = all_packed + worker * packed;
    kernels.pack_panels(b_part, element, {0, stride / kernels.panel_columns, 0, steps, steps * kernels.panel_columns},
                        panels);
    const PartialSums target{all_sums + number * sums, stride};
    multiply_region(context.scratch(worker), a_part, {panels, part.depth, b.columns(), element},
                    {0, a.rows(), 0, b.columns()}, {keep_sums, &target});
    if (visitor.visit != nullptr) {
      visitor.visit(visitor.context, part);
    }
  });

  const RowTasks tasks(a.rows(), parts.count() * stride, threads);
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    const int64_t first = tasks.begin(task), rows = tasks.end(task) - first;
    float* const total = all_sums + first * stride;
    for (int64_t part = 1; part < parts.count(); ++part) {
      kernels.add_up(total + part * sums, rows * stride, total);
    }
    sink.take(sink.context, {total, stride, first, rows, 0, b.columns()});
  });
}

void multiply_rows(Scratch& scratch, const Operand& a, const Panels& b, int64_t first_row, int64_t rows, Sink sink) {
  for (int64_t column = 0; column < b.columns; column += kTileColumns) {
    multiply_region(scratch, a, b, {first_row, rows, column, std::min(kTileColumns, b.columns - column)}, sink);
  }
}

}  // namespace heed::cpu
