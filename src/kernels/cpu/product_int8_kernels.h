// The innermost loops of products with 8-bit weights, one set per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/product_int8.h"

namespace heed::cpu {

// Rows of A, quantized, as the tile product reads them: row r at words + r * stride.
struct Int8Rows {
  const uint32_t* words = nullptr;
  int64_t stride = 0;
  const float* scales = nullptr;
};

// tile[rows, panel columns] = the sums of the rows times one panel, over `steps` steps.
using Int8TileProduct = void (*)(int64_t rows, int64_t steps, const Int8Rows& a, const uint32_t* panel, int32_t* tile,
                                 int64_t stride);

struct Int8Kernels {
  int64_t words_per_step;  // of a quantized row
  Int8TileProduct multiply;
  // Row `row` of A to `to`; returns its scale.
  float (*quantize)(const View& a, int64_t row, uint32_t* to);
  // A tile of sums, `stride` values from row to row, into f32 in the same memory; a.scales and the columns of `b` begin
  // with the tile's first.
  void (*finish)(int64_t rows, int64_t columns, const Int8Rows& a, const Int8Panels& b, int64_t stride, int32_t* sums);
};

const Int8Kernels& int8_kernels();  // the fastest here; all give the same results

// With AVX-512's instruction for sums of four products, for panels of 32 columns and unsigned values of A (offset 128).
void multiply_int8_avx512vnni(int64_t rows, int64_t steps, const Int8Rows& a, const uint32_t* panel, int32_t* tile,
                              int64_t stride);

}  // namespace heed::cpu
