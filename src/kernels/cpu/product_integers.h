// Products with weights of 8-bit or 4-bit integers: each row of A is quantized when it comes, the integers are
// multiplied and summed without any rounding, and the sums become f32 that the scales multiply:
//
//   s[r] = max |A[r, :]| / 127    q[r, k] = round(A[r, k] / s[r])
//   with an input scale: s[r] = that, and what lies beyond 127 s[r] is cut off
//   8 bits: C[r, c] = (sum over k of q[r, k] w[k, c]) s[r] t[c]
//   4 bits: C[r, c] = (sum over groups g of (sum over k in g of q[r, k] w[k, c]) t[g, c]) s[r]
//
// Sums of integers have no order, and those of groups one that the depth alone decides. So a row's result is the same in
// any batch, and on any processor.
#pragma once

#include <cstdint>

#include "kernels/cpu/product.h"
#include "kernels/integer_rows.h"

namespace heed::cpu {

enum class IntegerBits : uint8_t { eight, four };

// W^T rearranged: panels of ProductKernels::panel_columns columns, the last panel padded with zeros.
//
// 8 bits: each panel is [steps][panel_columns] words. A word holds the values of one column at four neighbouring k, the
// last ones padded with zeros; each column has one scale, and the sum of its values.
//
// 4 bits: each panel has two halves of as many columns, each [groups][4][columns] words. A word holds the values + 8 of
// one column at eight neighbouring k: in the low halves of its bytes those of the first four, in the high halves the
// others. The scales of a half are [groups][columns], in bf16.
struct IntegerPanels {
  IntegerBits bits = IntegerBits::eight;
  const uint32_t* words = nullptr;
  const float* scales = nullptr;           // of 8 bits
  const int32_t* sums = nullptr;           // of 8 bits
  const uint16_t* group_scales = nullptr;  // of 4 bits
  int64_t depth = 0, columns = 0;
  float input_scale = 0.0F;  // of 8 bits; 0: each row of A has its own
};

constexpr int64_t kInt4GroupWords = kInt4Group / 8;

int64_t integer_panel_words(IntegerBits bits, int64_t depth, int64_t columns);
int64_t int4_scales(int64_t depth, int64_t columns);  // of panels of 4 bits

// All of A B, split into tiles that the workers claim. A is f32 or bf16, and not transposed.
void multiply(Context& context, const Operand& a, const IntegerPanels& b, Sink sink);
// Some rows of A B, on this worker alone.
void multiply_rows(Scratch& scratch, const Operand& a, const IntegerPanels& b, int64_t first_row, int64_t rows,
                   Sink sink);

}  // namespace heed::cpu
