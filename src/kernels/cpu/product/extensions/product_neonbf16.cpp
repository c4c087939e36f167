// BFMMLA: to 2 x 2 sums, those of two rows and two columns, it adds products of four values each, which are two steps of
// pairs. A register holds the four values of both rows, or of both columns, one after the other.
#include <arm_neon.h>

#include "kernels/cpu/product/product_kernels.h"
#include "kernels/half_panels.h"

namespace heed::cpu {
namespace {

constexpr int64_t kMaxRows = 6;  // at once: 24 registers of sums, with 16 columns
constexpr int64_t kQuad = 4;     // columns of a vector

enum class Neighbours : uint8_t { steps, rows };  // what lies next to each other in A

inline uint32x4_t load_words(const float* from) { return vreinterpretq_u32_f32(vld1q_f32(from)); }
inline uint32x2_t load_two(const float* from) { return vreinterpret_u32_f32(vld1_f32(from)); }

// Two rows of A from one step on: that step and the next one, or a zero for it.
template <Neighbours neighbours>
struct RowPair {
  const float *first, *second;
  int64_t step_stride;

  RowPair(const LeftBlock& a, int64_t row, int64_t rows)
      : first(a.data + row * a.row_stride),
        second(a.data + (row + 1 < rows ? row + 1 : row) * a.row_stride),
        step_stride(a.step_stride) {}

  bfloat16x8_t both(int64_t step) const {
    if constexpr (neighbours == Neighbours::steps) {
      return vreinterpretq_bf16_u32(vcombine_u32(load_two(first + step), load_two(second + step)));
    } else {
      // Past the last row lie unused words of the same step.
      const uint32x2_t x = load_two(first + step * step_stride), next = load_two(first + (step + 1) * step_stride);
      return vreinterpretq_bf16_u32(vcombine_u32(vzip1_u32(x, next), vzip2_u32(x, next)));
    }
  }
  bfloat16x8_t one(int64_t step) const {
    float32x4_t x = vdupq_n_f32(0.0F);
    x = vld1q_lane_f32(first + step * step_stride, x, 0);
    x = vld1q_lane_f32(second + step * step_stride, x, 2);
    return vreinterpretq_bf16_f32(x);
  }
};

// As 2 x 2 sums: those of columns 0 and 1 of both rows, and those of columns 2 and 3.
struct Squares {
  float32x4_t left, right;
};
inline Squares squares_of(float32x4_t first, float32x4_t second) {
  return {vcombine_f32(vget_low_f32(first), vget_low_f32(second)),
          vcombine_f32(vget_high_f32(first), vget_high_f32(second))};
}

template <int kPairs, int kQuads>
inline void begin_sums(int64_t rows, const float* tile, int64_t stride, Write write, Squares (&sums)[kPairs][kQuads]) {
#pragma GCC unroll 3
  for (int i = 0; i < kPairs; ++i) {
    const float* const first = tile + 2 * i * stride;
    const float* const second = 2 * i + 1 < rows ? first + stride : first;
#pragma GCC unroll 8
    for (int q = 0; q < kQuads; ++q) {
      const float32x4_t zero = vdupq_n_f32(0.0F);
      sums[i][q] = write == Write::add ? squares_of(vld1q_f32(first + kQuad * q), vld1q_f32(second + kQuad * q))
                                       : Squares{zero, zero};
    }
  }
}

template <int kPairs, int kQuads>
inline void store_sums(const Squares (&sums)[kPairs][kQuads], int64_t rows, float* tile, int64_t stride) {
#pragma GCC unroll 3
  for (int i = 0; i < kPairs; ++i) {
    float* const first = tile + 2 * i * stride;
#pragma GCC unroll 8
    for (int q = 0; q < kQuads; ++q) {
      const Squares rows_of = squares_of(sums[i][q].left, sums[i][q].right);
      vst1q_f32(first + kQuad * q, rows_of.left);
      if (2 * i + 1 < rows) {
        vst1q_f32(first + stride + kQuad * q, rows_of.right);
      }
    }
  }
}

// Up to 2 kPairs rows times 4 kQuads columns of a panel.
template <int kPairs, int kQuads, Neighbours neighbours>
inline void tile_product(int64_t rows, int64_t steps, const LeftBlock& a, const float* __restrict panel,
                         float* __restrict tile, int64_t stride, Write write) {
  constexpr int64_t kLine = 16;  // of cache, in words
  Squares sums[kPairs][kQuads];
  begin_sums(rows, tile, stride, write, sums);
  const RowPair<neighbours> pairs[3] = {{a, 0, rows}, {a, kPairs > 1 ? 2 : 0, rows}, {a, kPairs > 2 ? 4 : 0, rows}};
  const auto add = [&](const bfloat16x8_t(&x)[kPairs], int q, uint32x4_t even, uint32x4_t odd) {
    const bfloat16x8_t left = vreinterpretq_bf16_u32(vzip1q_u32(even, odd));
    const bfloat16x8_t right = vreinterpretq_bf16_u32(vzip2q_u32(even, odd));
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      sums[i][q].left = vbfmmlaq_f32(sums[i][q].left, x[i], left);
      sums[i][q].right = vbfmmlaq_f32(sums[i][q].right, x[i], right);
    }
  };
  int64_t step = 0;
  for (; step + 1 < steps; step += 2, panel += 2 * kHalfPanelRows) {
    bfloat16x8_t x[kPairs];
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      x[i] = pairs[i].both(step);
    }
#pragma GCC unroll 2
    for (int64_t word = 0; word < kQuads * kQuad; word += kLine) {
      __builtin_prefetch(panel + word + kWordsAhead);
      __builtin_prefetch(panel + word + kHalfPanelRows + kWordsAhead);
    }
#pragma GCC unroll 8
    for (int q = 0; q < kQuads; ++q) {
      add(x, q, load_words(panel + kQuad * q), load_words(panel + kHalfPanelRows + kQuad * q));
    }
  }
  if (step < steps) {
    bfloat16x8_t x[kPairs];
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      x[i] = pairs[i].one(step);
    }
#pragma GCC unroll 8
    for (int q = 0; q < kQuads; ++q) {
      add(x, q, load_words(panel + kQuad * q), vdupq_n_u32(0));
    }
  }
  store_sums(sums, rows, tile, stride);
}

template <int kPairs, int kQuads, Neighbours neighbours>
void panel_product(int64_t rows, int64_t steps, const LeftBlock& a, const float* panel, float* tile, int64_t stride,
                   Write write) {
  for (int64_t column = 0; column < kHalfPanelRows; column += kQuads * kQuad) {
    tile_product<kPairs, kQuads, neighbours>(rows, steps, a, panel + column, tile + column, stride, write);
  }
}

using Product = void (*)(int64_t, int64_t, const LeftBlock&, const float*, float*, int64_t, Write);

// By the number of pairs of rows. The fewer, the more columns, so that enough chains of sums are in flight.
template <Neighbours n>
constexpr Product kProducts[] = {panel_product<1, 8, n>, panel_product<2, 4, n>, panel_product<3, 4, n>};

// The first `count` of 8 columns, followed by zeros.
inline uint16x8_t load_columns(const bf16* from, int64_t count) {
  const auto* const bits = reinterpret_cast<const uint16_t*>(from);
  if (count >= 8) {
    return vld1q_u16(bits);
  }
  uint16_t some[8] = {};
  for (int64_t i = 0; i < count; ++i) {
    some[i] = bits[i];
  }
  return vld1q_u16(some);
}

}  // namespace

void write_bf16_pair_strips(const HostView<const bf16>& from, const ColumnBlock& block, float* to) {
  for (int64_t step = 0; step < block.steps; ++step) {
    const int64_t k = 2 * (block.first_step + step);
    const bool odd_exists = k + 1 < from.rows;
    const bf16* const even = from.row(k);
    const bf16* const odd = odd_exists ? from.row(k + 1) : even;
    float* out = to + step * block.stride;
    for (int64_t c = 0; c < block.columns; c += block.strip, out += block.distance) {
      for (int64_t i = 0; i < block.strip; i += 8) {
        const int64_t column = block.first_column + c + i, count = from.columns - column;
        const uint16x8_t x = load_columns(even + column, count);
        const uint16x8_t next = load_columns(odd + column, odd_exists ? count : 0);
        vst1q_f32(out + i, vreinterpretq_f32_u16(vzip1q_u16(x, next)));
        vst1q_f32(out + i + 4, vreinterpretq_f32_u16(vzip2q_u16(x, next)));
      }
    }
  }
}

void multiply_bf16_pairs(int64_t rows, int64_t steps, const LeftBlock& a, const RightBlock& b, float* tile,
                         int64_t stride, Write write) {
  const Product* const products = a.step_stride == 1 ? kProducts<Neighbours::steps> : kProducts<Neighbours::rows>;
  for (int64_t panel = 0; panel < b.panels; ++panel) {
    for (int64_t row = 0; row < rows; row += kMaxRows) {
      const int64_t count = rows - row < kMaxRows ? rows - row : kMaxRows;
      const LeftBlock left{a.data + row * a.row_stride, a.row_stride, a.step_stride};
      products[(count - 1) / 2](count, steps, left, b.data + panel * b.distance,
                                tile + row * stride + panel * kHalfPanelRows, stride, write);
    }
  }
}

}  // namespace heed::cpu
