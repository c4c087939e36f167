// The innermost loops of products with integer weights, one set per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/product_integers.h"

namespace heed::cpu {

// Rows of A, quantized, as the tile product reads them: row r at words + r * stride.
struct IntegerRows {
  const uint32_t* words = nullptr;
  int64_t stride = 0;
  const float* scales = nullptr;
};

// One panel of B.
struct IntegerPanel {
  const uint32_t* words;
  const float* scales;
  const int32_t* sums;
  const uint16_t* group_scales;
  int64_t depth;
};

struct IntegerKernels {
  int64_t (*row_words)(int64_t depth);  // of a quantized row
  // Row `row` of A to `to`, with this scale; 0: with its own. Returns the scale.
  float (*quantize)(const View& a, int64_t row, float input_scale, uint32_t* to);
  // tile[rows, panel columns] = the rows times one panel.
  void (*multiply)(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride);
};

const IntegerKernels& integer_kernels(IntegerBits bits);  // the fastest here; all give the same results

constexpr int64_t steps_of_int8(int64_t depth) { return (depth + 3) / 4; }

// With the instruction for sums of four products: AVX-512's for panels of 32 columns, AVX-VNNI's for panels of 16. With
// 8 bits the rows' values are 128 too large, which makes them unsigned; with 4 bits they are signed, and the weights
// unsigned. A row of 4 bits ends with the sums of its groups' values.
void multiply_int8_avx512vnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                              int64_t stride);
void multiply_int4_avx512vnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                              int64_t stride);
void multiply_int8_avxvnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride);
void multiply_int4_avxvnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride);

}  // namespace heed::cpu
