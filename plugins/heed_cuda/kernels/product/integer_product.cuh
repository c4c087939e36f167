// Products of integers by the matrix units, from memory to registers: a warp sums some 16 x 8 tiles over blocks of 128
// columns. Sums of integers have no order; those of int4's groups are scaled and added in order.
#pragma once

#include "heed_cuda/kernels/machine/matrix_units.cuh"
#include "heed_cuda/kernels/product/packed_weights.h"
#include "heed_cuda/kernels/product/product_shape.h"

namespace heed::cuda {

constexpr int kIntegerWarps = 8;
constexpr int kIntegerThreads = kIntegerWarps * kWarp;

struct IntegerOperands {
  const int8_t* x;  // [m, x_stride], a multiple of kInt4Block: zeros behind the last column
  int64_t x_stride;
  const float* x_scales;
  const int8_t* weight;  // of int8: zeros or anything behind the last column
  int64_t weight_stride;
  const float* scales;       // of int8, of each row
  GroupScales group_scales;  // of int4
  ProductSize size;

  __device__ int64_t blocks() const { return x_stride / kInt4Block; }
  __device__ int64_t groups() const { return blocks() * kGroupsOfInt4Block; }
};

__device__ inline Words4 words_or_zeros(const int8_t* from, bool there) {
  return there ? *reinterpret_cast<const Words4*>(from) : Words4{};
}

// The product is not merged with what it is added to: in all kernels alike.
__device__ inline float rounded_product(float a, float b) {
#ifdef __CUDACC__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

// Where the tile of a warp begins, and which of its elements this lane has: rows lane / 4 and 8 further of each 16,
// columns 2 (lane % 4) and the next of each 8.
struct IntegerPlace {
  int64_t row, column;
};

// Two words of each of the four groups (of int8: steps) of a block.
struct BlockWords {
  Words4 first, second;

  __device__ uint32_t low(int group) const { return group < 2 ? first.words[2 * group] : second.words[2 * group - 4]; }
  __device__ uint32_t high(int group) const {
    return group < 2 ? first.words[2 * group + 1] : second.words[2 * group - 3];
  }
};

// A lane has 16 bytes of each half of a block: any share will do that both operands have.
struct Int8Words {
  __device__ static BlockWords of_row(const int8_t* row, int64_t columns, int64_t block, int member, bool there) {
    const int64_t first = block * kInt4Block + 16 * member, second = first + kInt4Block / 2;
    return {words_or_zeros(row + first, there && first < columns),
            words_or_zeros(row + second, there && second < columns)};
  }
  __device__ static BlockWords of_x(const IntegerOperands& operands, int64_t row, int64_t block, int member) {
    return of_row(operands.x + row * operands.x_stride, operands.x_stride, block, member, row < operands.size.m);
  }
  __device__ static BlockWords of_weight(const IntegerOperands& operands, int64_t row, int64_t block, int member) {
    return of_row(operands.weight + row * operands.weight_stride, operands.weight_stride, block, member,
                  row < operands.size.n);
  }
};

struct Int4Words {
  __device__ static BlockWords of_x(const IntegerOperands& operands, int64_t row, int64_t block, int member) {
    const int8_t* const at = operands.x + row * operands.x_stride + block * kInt4Block + 32 * member;
    const bool there = row < operands.size.m;
    return {words_or_zeros(at, there), words_or_zeros(at + 16, there)};
  }
  // Bytes of 0 to 15 become -8 to 7.
  __device__ static uint32_t centred(uint32_t bytes) { return ((bytes | 0x80808080U) - 0x08080808U) ^ 0x80808080U; }
  __device__ static BlockWords of_weight(const IntegerOperands& operands, int64_t row, int64_t block, int member) {
    const Words4 packed = words_or_zeros(
        operands.weight + row * operands.weight_stride + block * kInt4BlockBytes + 16 * member, row < operands.size.n);
    BlockWords result;
    HEED_UNROLL
    for (int group = 0; group < 4; ++group) {
      Words4& words = group < 2 ? result.first : result.second;
      words.words[group % 2 * 2] = centred(packed.words[group] & 0x0f0f0f0fU);
      words.words[group % 2 * 2 + 1] = centred(packed.words[group] >> 4 & 0x0f0f0f0fU);
    }
    return result;
  }
};

// Calls body(m tile, n tile, group, left, right) for all tiles and groups of a block, group by group.
template <class WordsOf, int kTilesM, int kTilesN, class Body>
__device__ inline void for_each_step(const IntegerOperands& operands, const IntegerPlace& at, int64_t block,
                                     const Body& body) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, group_of_lane = lane / 4, member = lane % 4;
  BlockWords x[kTilesM][2], weight[kTilesN];
  HEED_UNROLL
  for (int n = 0; n < kTilesN; ++n) {
    weight[n] = WordsOf::of_weight(operands, at.column + 8 * n + group_of_lane, block, member);
  }
  HEED_UNROLL
  for (int m = 0; m < kTilesM; ++m) {
    x[m][0] = WordsOf::of_x(operands, at.row + 16 * m + group_of_lane, block, member);
    x[m][1] = WordsOf::of_x(operands, at.row + 16 * m + 8 + group_of_lane, block, member);
  }
  HEED_UNROLL
  for (int group = 0; group < static_cast<int>(kGroupsOfInt4Block); ++group) {
    HEED_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      const LeftWords left{{x[m][0].low(group), x[m][1].low(group), x[m][0].high(group), x[m][1].high(group)}};
      HEED_UNROLL
      for (int n = 0; n < kTilesN; ++n) {
        body(m, n, group, left, RightWords{{weight[n].low(group), weight[n].high(group)}});
      }
    }
  }
}

__device__ inline float int8_value(const IntegerOperands& operands, int64_t r, int64_t c, int sum) {
  return c < operands.size.n
             ? rounded_product(static_cast<float>(sum), rounded_product(operands.x_scales[r], operands.scales[c]))
             : 0.0F;
}

__device__ inline float group_scale(const IntegerOperands& operands, int64_t c, int64_t group) {
  return c < operands.size.n ? operands.group_scales.at(c * operands.groups() + group) : 0.0F;
}

}  // namespace heed::cuda
