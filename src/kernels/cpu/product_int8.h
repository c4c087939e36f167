// Products with weights of 8-bit integers: each row of A is quantized when it comes, the integers are multiplied and
// summed without any rounding, and each sum becomes an f32 that both scales multiply:
//
//   s[r] = max |A[r, :]| / 127    q[r, k] = round(A[r, k] / s[r])    C[r, c] = (sum over k of q[r, k] w[k, c]) s[r] t[c]
//
// Sums of integers have no order, so a row's result is the same in any batch, on any processor.
#pragma once

#include <cstdint>

#include "kernels/cpu/product.h"

namespace heed::cpu {

// W^T rearranged: panels of ProductKernels::panel_columns columns, each [steps][panel_columns] words, the last panel
// padded with zeros. A word holds the values of one column at four neighbouring k, the last ones padded with zeros.
struct Int8Panels {
  const uint32_t* words = nullptr;
  const float* scales = nullptr;  // t, of each column
  const int32_t* sums = nullptr;  // of each column's values
  int64_t depth = 0, columns = 0;
};

int64_t int8_steps(int64_t depth);  // words that hold one column
int64_t int8_panel_words(int64_t depth, int64_t columns);

// All of A B, split into tiles that the workers claim. A is f32 or bf16, and not transposed.
void multiply(Context& context, const Operand& a, const Int8Panels& b, Sink sink);
// Some rows of A B, on this worker alone.
void multiply_rows(Scratch& scratch, const Operand& a, const Int8Panels& b, int64_t first_row, int64_t rows, Sink sink);

}  // namespace heed::cpu
