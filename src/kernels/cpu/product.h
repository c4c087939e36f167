// Matrix products: C = A B over panels of B, tile by tile of C, each tile handed to a sink while it is in cache.
//
// Each element's sum runs over k in order, in blocks whose length follows from the instruction set and from how A lies, and
// depends on nothing else: not on the other rows or columns, the tiling, the thread, or whether B was packed before. Rows
// of a product are therefore the same bits in any batch. multiply_deep is another order, which depends on the sizes alone.
#pragma once

#include <cstdint>

#include "kernels/cpu/context.h"
#include "tensor/tensor.h"

namespace heed::cpu {

// How bf16 operands are multiplied. Both accumulate in f32.
enum class Bf16Products : uint8_t {
  widened,  // converted to f32 while a tile is brought into cache: exact products at the f32 rate
  pairs,    // the instruction that multiplies and adds pairs, where the processor runs it at full rate
};

bool has_bf16_pairs();                 // the processor knows the instruction
Bf16Products fastest_bf16_products();  // on this processor, by its kind: a timing would make results depend on the load

enum class Layout : uint8_t { plain, transposed };  // the operand is the matrix as it is stored, or its transpose

struct Operand {
  View matrix;
  Layout layout = Layout::plain;

  int64_t rows() const { return layout == Layout::plain ? matrix.rows() : matrix.columns(); }
  int64_t columns() const { return layout == Layout::plain ? matrix.columns() : matrix.rows(); }
};

// What one step along the depth multiplies: an f32, two bf16 of neighbouring k, or a bf16 that is widened on its way into
// the multiplication, to the bits of an f32.
enum class Element : uint8_t { single, pair, half };

// B rearranged: panels of ProductKernels::panel_columns columns, each [steps][panel_columns], the last one filled up with
// zeros. Of halves, a word holds those of columns c and c + panel_columns / 2.
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

// 4-byte words that panels take.
int64_t panel_words(int64_t depth, int64_t columns, Element element);
int64_t panel_elements(const Operand& b, Bf16Products products);  // those of `b`, to be multiplied now
// Fills `to` (as long as that), all workers taking part.
Panels pack_panels(Context& context, const Operand& b, Bf16Products products, float* to);
Panels pack_panels(Context& context, const Operand& b, Element element, float* to);  // single or pair

// All of A B, cut into tiles that the workers claim.
void multiply(Context& context, const Operand& a, const Panels& b, Sink sink);
// Some rows of A B, by this worker alone.
void multiply_rows(Scratch& scratch, const Operand& a, const Panels& b, int64_t first_row, int64_t rows, Sink sink);

// How a long sum is cut, over the depth of multiply_deep or down the columns of a bias gradient: by its length alone,
// into whole pairs.
struct DepthPart {
  int64_t number, first, depth;
};
class DepthParts {
 public:
  explicit DepthParts(int64_t depth);
  int64_t count() const;
  DepthPart at(int64_t number) const;
  int64_t max_length() const { return part_; }

 private:
  int64_t depth_, part_;
};

// Called by the worker that has just multiplied a part, and so has its rows in cache; `visit` may be null.
struct PartVisitor {
  void (*visit)(const void* context, const DepthPart& part);
  const void* context;
};

// All of A B where the depth is long and C small, A transposed and B straight: every worker takes whole parts of the
// depth, which it reads once from end to end, and their products are added up in order.
bool is_deep(const Operand& a, const Operand& b);  // so much so that multiply_deep is the faster one
void multiply_deep(Context& context, const Operand& a, const Operand& b, Bf16Products products, Sink sink,
                   PartVisitor visitor);

}  // namespace heed::cpu
