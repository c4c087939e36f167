// Matrix products: C = A B over panels of B, tile by tile of C, each tile handed to a sink while it is in cache.
//
// Each element's sum runs over k in order, in blocks whose length depends only on the instruction set and on A's
// layout: not on the other rows or columns, the tiling, the thread, or whether B was packed before. So the rows of a
// product have the same bits in any batch. multiply_deep sums in another order, which depends only on the sizes.
#pragma once

#include <cstdint>

#include "kernels/cpu/machine/context.h"
#include "tensor/tensor.h"

namespace heed::cpu {

// How bf16 operands are multiplied. Both accumulate in f32.
enum class Bf16Products : uint8_t {
  widened,  // converted to f32 while a tile is loaded into cache: exact products at the f32 rate
  pairs,    // by the instruction that multiplies and adds pairs, where the processor runs it at full rate
};

bool has_bf16_pairs();  // the processor has the instruction
Bf16Products
fastest_bf16_products();  // chosen by the processor's model: a timing would make results depend on the load

enum class Layout : uint8_t { plain, transposed };  // the operand is the matrix as it is stored, or its transpose

struct Operand {
  ConstView matrix;
  Layout layout = Layout::plain;

  int64_t rows() const { return layout == Layout::plain ? matrix.rows() : matrix.columns(); }
  int64_t columns() const { return layout == Layout::plain ? matrix.columns() : matrix.rows(); }
};

// What one step along the depth multiplies.
enum class Element : uint8_t {
  single,     // an f32
  pair,       // two bf16 of neighbouring k
  half,       // a bf16 that is widened to f32 when it is loaded
  bf16_pair,  // one of a pair, widened in the same way: pairs that were packed for another kind of product
  f16_pair,   // the same of f16
};
constexpr bool is_widened_pair(Element element) {
  return element == Element::bf16_pair || element == Element::f16_pair;
}

// B rearranged: panels of columns_of_panel(element) columns, each [words of the depth][columns], the last one padded
// with zeros. With Element::half, a word holds the elements of columns c and c + half of the panel's; pairs have the
// form of kernels/half_panels.h.
struct Panels {
  const float* data = nullptr;
  int64_t depth = 0, columns = 0;
  Element element = Element::single;
};

// A finished part of C: rows x columns values, row r at values + r * stride, readable to the next whole vector.
struct Tile {
  const float* values;
  int64_t stride, first_row, rows, first_column, columns;
};

// Consumes tiles; called by several workers at once, for disjoint tiles.
struct Sink {
  void (*take)(const void* context, const Tile& tile);
  const void* context;
};

int64_t columns_of_panel(Element element);
// The size of panels, in 4-byte words.
int64_t panel_words(int64_t depth, int64_t columns, Element element);
int64_t panel_elements(const Operand& b, Bf16Products products);  // of panels of `b`, to be multiplied now
// Fills `to`, which has that size, using all workers.
Panels pack_panels(Context& context, const Operand& b, Bf16Products products, float* to);
Panels pack_panels(Context& context, const Operand& b, Element element, float* to);  // single or pair

// All of A B, split into tiles that the workers claim.
void multiply(Context& context, const Operand& a, const Panels& b, Sink sink);
// Some rows of A B, on this worker alone.
void multiply_rows(Scratch& scratch, const Operand& a, const Panels& b, int64_t first_row, int64_t rows, Sink sink);

// How a long sum is split into slices (the depth of multiply_deep, the rows that a bias gradient adds up): by its
// length alone, without splitting a pair.
struct DepthSlice {
  int64_t number, first, depth;
};
class DepthSlices {
 public:
  explicit DepthSlices(int64_t depth);
  int64_t count() const;
  DepthSlice at(int64_t number) const;
  int64_t max_length() const { return slice_; }

 private:
  int64_t depth_, slice_;
};

// Called by the worker that has just multiplied a slice and so has its rows in cache; `visit` may be null.
struct SliceVisitor {
  void (*visit)(const void* context, const DepthSlice& slice);
  const void* context;
};

// All of A B where the depth is long and C small, A transposed and B plain: every worker takes whole slices of the
// depth, reading each once from end to end, and their products are added up in order.
bool is_deep(const Operand& a, const Operand& b);  // deep enough for multiply_deep to be faster
void multiply_deep(Context& context, const Operand& a, const Operand& b, Bf16Products products, Sink sink,
                   SliceVisitor visitor);

}  // namespace heed::cpu
