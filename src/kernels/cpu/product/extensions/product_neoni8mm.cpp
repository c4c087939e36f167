// SMMLA: to 2 x 2 sums, those of two rows and two columns, it adds eight products of 8-bit values each, which are two
// steps of a panel. A register holds the eight values of both rows, or of both columns, one after the other.
#include <arm_neon.h>

#include "kernels/cpu/product/integer_kernels.h"

namespace heed::cpu {
namespace {

constexpr int kQuads = 4;  // vectors of columns in a panel
static_assert(4 * kQuads == kPanelRows);
constexpr int64_t kInt8Rows = 6, kInt4Rows = 4;  // at once: as many as have their sums in registers

// The sums of two rows and four columns.
struct Squares {
  int32x4_t left, right;

  int32x4_t first_row() const { return vcombine_s32(vget_low_s32(left), vget_low_s32(right)); }
  int32x4_t second_row() const { return vcombine_s32(vget_high_s32(left), vget_high_s32(right)); }

  // Adds the products of two rows' bytes and four columns': a word of each column, and the next one.
  void add(int8x16_t rows, uint32x4_t even, uint32x4_t odd) {
    left = vmmlaq_s32(left, rows, vreinterpretq_s8_u32(vzip1q_u32(even, odd)));
    right = vmmlaq_s32(right, rows, vreinterpretq_s8_u32(vzip2q_u32(even, odd)));
  }
};

// Two rows; of an odd number the last one twice.
struct RowPair {
  const uint32_t *first, *second;

  RowPair(const IntegerRows& a, int64_t row, int64_t rows)
      : first(a.words + row * a.stride), second(row + 1 < rows ? first + a.stride : first) {}

  int8x16_t two_words(int64_t word) const {
    return vreinterpretq_s8_u32(vcombine_u32(vld1_u32(first + word), vld1_u32(second + word)));
  }
  int8x16_t one_word(int64_t word) const {
    uint32x4_t x = vdupq_n_u32(0);
    x = vld1q_lane_u32(first + word, x, 0);
    x = vld1q_lane_u32(second + word, x, 2);
    return vreinterpretq_s8_u32(x);
  }
};

// Calls take(row, quad, sums) for each row's sums, four columns at a time.
template <int kPairs, class Take>
inline void each_row(int64_t rows, const Squares (&sums)[kPairs][kQuads], const Take& take) {
#pragma GCC unroll 4
  for (int q = 0; q < kQuads; ++q) {
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      take(2 * i, q, sums[i][q].first_row());
      if (2 * i + 1 < rows) {
        take(2 * i + 1, q, sums[i][q].second_row());
      }
    }
  }
}

// ---- 8 bits ----

template <int kPairs>
void int8_tile(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  const RowPair pairs[3] = {{a, 0, rows}, {a, kPairs > 1 ? 2 : 0, rows}, {a, kPairs > 2 ? 4 : 0, rows}};
  const int32x4_t zero = vdupq_n_s32(0);
  Squares sums[kPairs][kQuads];
#pragma GCC unroll 3
  for (int i = 0; i < kPairs; ++i) {
#pragma GCC unroll 4
    for (int q = 0; q < kQuads; ++q) {
      sums[i][q] = {zero, zero};
    }
  }
  const uint32_t* b = panel.words;
  const auto add = [&](const int8x16_t(&x)[kPairs], int q, uint32x4_t even, uint32x4_t odd) {
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      sums[i][q].add(x[i], even, odd);
    }
  };
  const int64_t steps = steps_of_int8(panel.depth);
  int64_t step = 0;
  for (; step + 1 < steps; step += 2, b += 2 * kPanelRows) {
    __builtin_prefetch(b + kPanelRows * kStepsAhead);
    __builtin_prefetch(b + kPanelRows * (kStepsAhead + 1));
    int8x16_t x[kPairs];
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      x[i] = pairs[i].two_words(step);
    }
#pragma GCC unroll 4
    for (int q = 0; q < kQuads; ++q) {
      add(x, q, vld1q_u32(b + 4 * q), vld1q_u32(b + kPanelRows + 4 * q));
    }
  }
  if (step < steps) {
    int8x16_t x[kPairs];
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      x[i] = pairs[i].one_word(step);
    }
#pragma GCC unroll 4
    for (int q = 0; q < kQuads; ++q) {
      add(x, q, vld1q_u32(b + 4 * q), vdupq_n_u32(0));
    }
  }
  each_row(rows, sums, [&](int64_t row, int q, int32x4_t whole) {
    const float32x4_t scale = vmulq_f32(vdupq_n_f32(a.scales[row]), vld1q_f32(panel.scales + 4 * q));
    vst1q_f32(tile + row * stride + 4 * q, vmulq_f32(vcvtq_f32_s32(whole), scale));
  });
}

// ---- 4 bits ----

inline float32x4_t scales_of_group(HalfType type, const uint16_t* scales) {
  const uint16x4_t bits = vld1_u16(scales);
  return type == HalfType::f16 ? vcvt_f32_f16(vreinterpret_f16_u16(bits))
                               : vreinterpretq_f32_u32(vshll_n_u16(bits, 16));
}

// A group's integers are summed from -8 times the sum of the row's values, since the weights are 8 too large.
template <int kPairs>
void int4_tile(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  const RowPair pairs[2] = {{a, 0, rows}, {a, kPairs > 1 ? 2 : 0, rows}};
  const uint8x16_t low_halves = vdupq_n_u8(0x0f);
  const int64_t groups = panel.depth / kInt4Group, words_of_values = groups * 2 * kInt4GroupWords;
  const int shift = panel.group == kInt4Group ? 0 : 1;
  const HalfType type = panel.group_scale_type;
  const uint32_t* b = panel.words;
  for (int64_t group = 0; group < groups; ++group) {
    Squares whole[kPairs][kQuads];
#pragma GCC unroll 2
    for (int i = 0; i < kPairs; ++i) {
      const int64_t sum = words_of_values + group;
      const int32x4_t from =
          vreinterpretq_s32_u32(vcombine_u32(vdup_n_u32(pairs[i].first[sum]), vdup_n_u32(pairs[i].second[sum])));
#pragma GCC unroll 4
      for (int q = 0; q < kQuads; ++q) {
        whole[i][q] = {from, from};
      }
    }
#pragma GCC unroll 4
    for (int64_t word = 0; word < kInt4GroupWords; ++word, b += kPanelRows) {
      __builtin_prefetch(b + kPanelRows * kStepsAhead);
      int8x16_t x[kPairs];
#pragma GCC unroll 2
      for (int i = 0; i < kPairs; ++i) {
        x[i] = pairs[i].two_words(2 * (group * kInt4GroupWords + word));
      }
#pragma GCC unroll 4
      for (int q = 0; q < kQuads; ++q) {
        const uint8x16_t both = vreinterpretq_u8_u32(vld1q_u32(b + 4 * q));
        const uint32x4_t low = vreinterpretq_u32_u8(vandq_u8(both, low_halves));
        const uint32x4_t high = vreinterpretq_u32_u8(vshrq_n_u8(both, 4));
#pragma GCC unroll 2
        for (int i = 0; i < kPairs; ++i) {
          whole[i][q].add(x[i], low, high);
        }
      }
    }
    const uint16_t* const scales = panel.group_scales + kPanelRows * (group >> shift);
    each_row(rows, whole, [&](int64_t row, int q, int32x4_t sums) {
      float* const to = tile + row * stride + 4 * q;
      const float32x4_t before = group == 0 ? vdupq_n_f32(0.0F) : vld1q_f32(to);
      vst1q_f32(to, vaddq_f32(before, vmulq_f32(vcvtq_f32_s32(sums), scales_of_group(type, scales + 4 * q))));
    });
  }
  for (int64_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (int q = 0; q < kQuads; ++q) {
      float* const to = tile + row * stride + 4 * q;
      vst1q_f32(to, vmulq_n_f32(vld1q_f32(to), a.scales[row]));
    }
  }
}

using Product = void (*)(int64_t, const IntegerRows&, const IntegerPanel&, float*, int64_t);

constexpr Product kInt8Products[] = {int8_tile<1>, int8_tile<2>, int8_tile<3>};
constexpr Product kInt4Products[] = {int4_tile<1>, int4_tile<2>};

// By the number of pairs of rows; a row alone by dot products, which waste no half of a square.
inline void in_tiles(const Product* products, Product one, int64_t at_once, int64_t rows, const IntegerRows& a,
                     const IntegerPanel& panel, float* tile, int64_t stride) {
  for (int64_t row = 0; row < rows; row += at_once) {
    const int64_t count = rows - row < at_once ? rows - row : at_once;
    const IntegerRows some{a.words + row * a.stride, a.stride, a.scales + row};
    (count == 1 ? one : products[(count - 1) / 2])(count, some, panel, tile + row * stride, stride);
  }
}

}  // namespace

void multiply_int8_neoni8mm(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                            int64_t stride) {
  in_tiles(kInt8Products, multiply_int8_neondotprod, kInt8Rows, rows, a, panel, tile, stride);
}

void multiply_int4_neoni8mm(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                            int64_t stride) {
  in_tiles(kInt4Products, multiply_int4_neondotprod, kInt4Rows, rows, a, panel, tile, stride);
}

}  // namespace heed::cpu
