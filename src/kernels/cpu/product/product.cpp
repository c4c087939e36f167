#include "kernels/cpu/product/product.h"

#include <algorithm>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/errors.h"
#include "base/rounding.h"
#include "kernels/cpu/machine/instruction_sets.h"
#include "kernels/cpu/product/pair_kernels.h"
#include "kernels/cpu/product/product_kernels.h"
#include "kernels/cpu/product/tile_order.h"
#include "kernels/half_panels.h"

namespace heed::cpu {
namespace {

// How much of B one task packs. Rows of the matrix are read in the longest possible runs.
constexpr int64_t kStraightPanels = 8, kStraightSteps = 64;
constexpr int64_t kTransposedSteps = 256;

// Pairs are widened tile by tile for so few row tiles, and for more of them once.
constexpr int64_t kFewTiles = 2;

constexpr int64_t kDepthSlices = 8;
constexpr int64_t kDeepSliceAtLeast = 64;     // long: enough to make up for storing a slice's sums
constexpr int64_t kDeepElements = 128 * 256;  // small: this many elements of C are stored for every slice

Element element_of(const Operand& b, Bf16Products products) {
  return products == Bf16Products::pairs && b.matrix.type() == DType::bf16 ? Element::pair : Element::single;
}

int64_t steps_of(int64_t depth, Element element) { return element == Element::pair ? ceil_div(depth, 2) : depth; }

// The words that this many steps take in a panel.
int64_t words_of_steps(int64_t steps, Element element) {
  const int64_t width = columns_of_panel(element);
  switch (element) {
    case Element::half:
      return steps * width / 2;
    case Element::bf16_pair:
    case Element::f16_pair:
      return steps_of_halves(steps) * width;
    default:
      return steps * width;
  }
}

int64_t depth_block(const Operand& a) {
  const DepthBlocks& blocks = product_kernels().depth_blocks;
  return a.layout == Layout::transposed ? blocks.transposed : blocks.plain;
}

// The columns of B in one task: their panels take half of the core's cache, and stay there while A streams past.
int64_t tile_columns(const Operand& a) {
  const int64_t fit = second_level_cache() / 2 / (depth_block(a) * static_cast<int64_t>(sizeof(float)));
  return std::clamp(fit / kSmallestTileColumns * kSmallestTileColumns, kSmallestTileColumns, kLargestTileColumns);
}

HalfType half_type(Element element) { return element == Element::f16_pair ? HalfType::f16 : HalfType::bf16; }

TileProduct product_of(Element element) {
  switch (element) {
    case Element::single:
      return product_kernels().multiply;
    case Element::pair:
#if defined(__x86_64__) || defined(__aarch64__)
      return multiply_bf16_pairs;
#else
      return nullptr;
#endif
    case Element::half:
      return product_kernels().multiply_halves;
    case Element::bf16_pair:
    case Element::f16_pair:
      return pair_kernels(half_type(element)).multiply;
  }
  return nullptr;
}

// The same panels in f32, in `to`.
RightBlock widened_panels(Element element, int64_t steps, const RightBlock& from, float* to) {
  const int64_t width = product_kernels().panel_columns;
  pair_kernels(half_type(element)).widen(steps, from, to);
  return {to, from.panels * kHalfPanelRows / width, steps * width};
}

// One region of C by one worker, a row tile at a time across the region's panels: the tile's part of A stays in the
// first-level cache while panels stream past from the second. Sums of depth blocks before the last one are in scratch.
// If `kept` is given, all sums stay there, rows a whole number of panels apart, and there is no sink.
void multiply_region(Scratch& scratch, const Operand& a, const Panels& b, const Region& region, Sink sink,
                     float* kept = nullptr) {
  const ProductKernels& kernels = product_kernels();
  const int64_t width = columns_of_panel(b.element);
  const int64_t steps = steps_of(b.depth, b.element);
  // Rows of one tile read each panel once, from memory: fastest from end to end.
  const bool one_tile = region.rows <= kernels.tile_rows;
  const int64_t block_steps = one_tile ? std::max<int64_t>(1, steps) : steps_of(depth_block(a), b.element);
  const bool widens = is_widened_pair(b.element) && region.rows > kFewTiles * kernels.tile_rows;
  const TileProduct product = product_of(widens ? Element::single : b.element);
  const bool tile_by_tile = kept == nullptr && steps <= block_steps;
  const int64_t stride = round_up(region.columns, width);
  const int64_t height = tile_height(region.rows, kernels.tile_rows);

  const int64_t left_elements = left_stride(region.rows) * std::min(steps, block_steps);
  const int64_t own_sums = (tile_by_tile ? height : region.rows) * stride;
  const int64_t widened = widens ? stride * std::min(steps, block_steps) : 0;
  float* const left = scratch.reserve<float>(left_elements + own_sums + widened);
  float* const sums = kept != nullptr ? kept : left + left_elements;

  for (int64_t step = 0; step == 0 || step < steps; step += block_steps) {
    const int64_t count = std::min(block_steps, steps - step);
    LeftBlock block = kernels.pack_left(a, b.element, region.first_row, region.rows, step, count, left);
    RightBlock panels{b.data + panel_words(b.depth, region.first_column, b.element) + words_of_steps(step, b.element),
                      stride / width, words_of_steps(steps, b.element)};
    if (widens) {
      panels = widened_panels(b.element, count, panels, left + left_elements + own_sums);
    }
    for (int64_t row = 0; row < region.rows; row += height) {
      const int64_t rows = std::min(height, region.rows - row);
      float* const tile = tile_by_tile ? sums : sums + row * stride;
      product(rows, count, block, panels, tile, stride, step > 0 ? Write::add : Write::overwrite);
      if (kept == nullptr && step + block_steps >= steps) {
        sink.take(sink.context, {tile, stride, region.first_row + row, rows, region.first_column, region.columns});
      }
      block.data += rows * block.row_stride;
    }
  }
}

}  // namespace

bool has_bf16_pairs() {
#if defined(__x86_64__)
  limit_instruction_sets();
  // From the processor itself; the operating system must also save the wide registers.
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && product_kernels().panel_columns == 32;
#else
  return has_extension(Extension::bf16);
#endif
}

Bf16Products fastest_bf16_products() {
#if defined(__x86_64__)
  // AMD's cores run vdpbf16ps at the rate of an f32 multiply-add, with twice the products. The Intel core that was
  // measured issues it at a quarter of that rate: there, widening to f32 is twice as fast (docs/decisions.md).
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool amd = __get_cpuid(0, &eax, &ebx, &ecx, &edx) != 0 && ebx == signature_AMD_ebx;
  if (amd && has_bf16_pairs()) {
    return Bf16Products::pairs;
  }
#else
  // ARM's guides to its cores give BFMMLA, which makes four times as many products, half of FMLA's rate or all of it.
  if (has_bf16_pairs()) {
    return Bf16Products::pairs;
  }
#endif
  return Bf16Products::widened;
}

int64_t columns_of_panel(Element element) {
  return element == Element::pair || is_widened_pair(element) ? kHalfPanelRows : product_kernels().panel_columns;
}

int64_t panel_words(int64_t depth, int64_t columns, Element element) {
  return ceil_div(columns, columns_of_panel(element)) * words_of_steps(steps_of(depth, element), element);
}

int64_t panel_elements(const Operand& b, Bf16Products products) {
  return panel_words(b.rows(), b.columns(), element_of(b, products));
}

Panels pack_panels(Context& context, const Operand& b, Bf16Products products, float* to) {
  return pack_panels(context, b, element_of(b, products), to);
}

Panels pack_panels(Context& context, const Operand& b, Element element, float* to) {
  const ProductKernels& kernels = product_kernels();
  const int64_t steps = steps_of(b.rows(), element), width = columns_of_panel(element);
  const int64_t panels = ceil_div(b.columns(), width);
  const int64_t panels_per_task = b.layout == Layout::plain ? kStraightPanels : 1;
  const int64_t steps_per_task = b.layout == Layout::plain ? kStraightSteps : kTransposedSteps;
  const int64_t ranges = ceil_div(steps, steps_per_task);
  context.pool.run(ceil_div(panels, panels_per_task) * ranges, [&](int64_t task, int) {
    const int64_t panel = task / ranges * panels_per_task;
    const int64_t first = task % ranges * steps_per_task;
    const PanelBlock block{panel, std::min(panels_per_task, panels - panel), first,
                           std::min(steps_per_task, steps - first), steps * width};
    kernels.pack_panels(b, element, block, to + (panel * steps + first) * width);
  });
  return {to, b.rows(), b.columns(), element};
}

void multiply(Context& context, const Operand& a, const Panels& b, Sink sink) {
  ensure(a.columns() == b.depth, "product", "{} columns against {} rows", a.columns(), b.depth);
  const TileOrder order({a.rows(), b.columns, product_kernels().tile_rows, tile_columns(a), context.pool.threads()});
  context.pool.run(order.tasks(), [&](int64_t task, int worker) {
    multiply_region(context.scratch(worker), a, b, order.at(task), sink);
  });
}

DepthSlices::DepthSlices(int64_t depth) : depth_(depth), slice_(round_up(ceil_div(depth, kDepthSlices), 2)) {}

int64_t DepthSlices::count() const { return ceil_div(depth_, std::max<int64_t>(1, slice_)); }

DepthSlice DepthSlices::at(int64_t number) const {
  return {number, number * slice_, std::min(slice_, depth_ - number * slice_)};
}

bool is_deep(const Operand& a, const Operand& b) {
  return a.rows() * b.columns() <= kDeepElements && b.rows() >= kDepthSlices * kDeepSliceAtLeast;
}

void multiply_deep(Context& context, const Operand& a, const Operand& b, Bf16Products products, Sink sink,
                   SliceVisitor visitor) {
  ensure(a.layout == Layout::transposed && b.layout == Layout::plain, "product", "slices of the depth have to be rows");
  ensure(a.columns() == b.rows(), "product", "{} columns against {} rows", a.columns(), b.rows());
  const ProductKernels& kernels = product_kernels();
  const Element element = element_of(b, products);
  const DepthSlices slices(b.rows());
  const int64_t width = columns_of_panel(element), stride = round_up(b.columns(), width);
  const int64_t packed = stride * slices.max_length(), sums = a.rows() * stride;
  const int threads = context.pool.threads();
  float* const all_packed = context.shared_scratch.reserve<float>(threads * packed + slices.count() * sums);
  float* const all_sums = all_packed + threads * packed;

  context.pool.run(slices.count(), [&](int64_t number, int worker) {
    const DepthSlice slice = slices.at(number);
    const Operand a_slice{a.matrix.row_range(slice.first, slice.depth), a.layout};
    const Operand b_slice{b.matrix.row_range(slice.first, slice.depth), b.layout};
    const int64_t steps = steps_of(slice.depth, element);
    float* const panels = all_packed + worker * packed;
    kernels.pack_panels(b_slice, element, {0, stride / width, 0, steps, steps * width}, panels);
    multiply_region(context.scratch(worker), a_slice, {panels, slice.depth, b.columns(), element},
                    {0, a.rows(), 0, b.columns()}, {}, all_sums + number * sums);
    if (visitor.visit != nullptr) {
      visitor.visit(visitor.context, slice);
    }
  });

  const RowTasks tasks(a.rows(), slices.count() * stride, threads);
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    const int64_t first = tasks.begin(task), rows = tasks.end(task) - first;
    float* const total = all_sums + first * stride;
    for (int64_t slice = 1; slice < slices.count(); ++slice) {
      kernels.add_up(total + slice * sums, rows * stride, total);
    }
    sink.take(sink.context, {total, stride, first, rows, 0, b.columns()});
  });
}

void multiply_rows(Scratch& scratch, const Operand& a, const Panels& b, int64_t first_row, int64_t rows, Sink sink) {
  const int64_t columns = tile_columns(a);
  for (int64_t column = 0; column < b.columns; column += columns) {
    multiply_region(scratch, a, b, {first_row, rows, column, std::min(columns, b.columns - column)}, sink);
  }
}

}  // namespace heed::cpu
