// The innermost loops of products with integer weights, one set per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/product/product_integers.h"

namespace heed::cpu {

// Rows of A, quantized, as the tile product reads them: row r at words + r * stride.
struct IntegerRows {
  const uint32_t* words = nullptr;
  int64_t stride = 0;
  const float* scales = nullptr;
};

// As many columns of B as a kernel takes at once, from the first on: a panel, the half of one, or two.
struct IntegerPanel {
  const uint32_t* words = nullptr;
  const float* scales = nullptr;
  const int32_t* sums = nullptr;
  const uint16_t* group_scales = nullptr;
  HalfType group_scale_type = HalfType::bf16;
  int64_t depth = 0;
  int64_t group = kInt4Group;
};

struct IntegerKernels {
  int64_t columns;                      // that multiply() takes at once
  int64_t (*row_words)(int64_t depth);  // of a quantized row
  // Row `row` of A to `to`, with this scale; 0: with its own. Returns the scale.
  float (*quantize)(const ConstView& a, int64_t row, float input_scale, uint32_t* to);
  // tile[rows, columns] = the rows times as many columns.
  void (*multiply)(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride);
};

const IntegerKernels& integer_kernels(IntegerBits bits);  // the fastest here; all give the same results

constexpr int64_t kInt4GroupWords = kInt4Group / 8, kInt8GroupWords = kInt8Group / 4;  // of a column

// Steps of a panel, each a cache line: while one is multiplied, the one this much later is fetched. What the processor
// fetches by itself comes too late, and stops at the end of a page of 4 KiB, such as those of a mapped file.
constexpr int64_t kStepsAhead = 64;

// With the instruction for sums of four products: AVX-512's for two panels, AVX-VNNI's and ARM's for one. ARM's has
// signed factors. On x86 the rows' values with 8 bits are 128 too large, which makes them unsigned; with groups they are
// signed, and the weights unsigned: 8 too large, or 128, which is added as they are loaded. A row for groups ends with
// what takes that back: the sums of its groups' values, times -8 or -128.
void multiply_int8_avx512vnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                              int64_t stride);
void multiply_int4_avx512vnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                              int64_t stride);
void multiply_int8_groups_avx512vnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                                     int64_t stride);
void multiply_int8_avxvnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride);
void multiply_int4_avxvnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride);
void multiply_int8_groups_avxvnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                                  int64_t stride);
void multiply_int8_neondotprod(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                               int64_t stride);
void multiply_int4_neondotprod(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                               int64_t stride);
void multiply_int8_neoni8mm(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride);
void multiply_int4_neoni8mm(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride);

}  // namespace heed::cpu
