// Products with weights of 8-bit or 4-bit integers: each row of A is quantized when it comes, the integers are
// multiplied and summed without any rounding, and the sums become f32 that the scales multiply:
//
//   s[r] = max |A[r, :]| / 127    q[r, k] = round(A[r, k] / s[r])
//   with an input scale: s[r] = that, and what lies beyond 127 s[r] is cut off
//   8 bits: C[r, c] = (sum over k of q[r, k] w[k, c]) s[r] t[c]
//   4 bits, and 8 bits in groups:
//           C[r, c] = (sum over groups g of (sum over k in g of q[r, k] w[k, c]) t[g, c]) s[r]
//
// Sums of integers have no order, and those of groups one that the depth alone decides. So a row's result is the same
// in any batch, and on any processor.
#pragma once

#include <cstdint>

#include "kernels/cpu/product/product.h"
#include "kernels/integer_panels.h"

namespace heed::cpu {

enum class IntegerBits : uint8_t { eight, four, eight_in_groups };

// W^T in the panels of kernels/integer_panels.h; W's rows are the columns here.
struct IntegerPanels {
  IntegerBits bits = IntegerBits::eight;
  const uint32_t* words = nullptr;
  const float* scales = nullptr;  // of rows, in 8 bits
  const int32_t* sums = nullptr;  // of rows, in 8 bits
  const uint16_t* group_scales = nullptr;
  HalfType group_scale_type = HalfType::bf16;  // f16 in 8 bits, either in 4
  int64_t group = kInt4Group;                  // of 4 bits: kInt4Group or kLargeInt4Group
  int64_t depth = 0, columns = 0;
  float input_scale = 0.0F;  // of 8 bits; 0: each row of A has its own
};

// All of A B, split into tiles that the workers claim. A is f32 or bf16, and not transposed.
void multiply(Context& context, const Operand& a, const IntegerPanels& b, Sink sink);
// Some rows of A B, on this worker alone.
void multiply_rows(Scratch& scratch, const Operand& a, const IntegerPanels& b, int64_t first_row, int64_t rows,
                   Sink sink);

}  // namespace heed::cpu
