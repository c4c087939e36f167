// SDOT: to each of four sums, those of four columns, it adds four products of 8-bit values. The row's four come from one
// lane of a register, so a register of A serves four steps.
#include <arm_neon.h>

#include "kernels/cpu/product/integer_kernels.h"

namespace heed::cpu {
namespace {

constexpr int kQuads = 4;  // vectors of columns in a panel
static_assert(4 * kQuads == kPanelRows);
constexpr int64_t kInt8Rows = 6, kInt4Rows = 4;  // at once: as many as have their sums in registers

inline int8x16_t load_bytes(const uint32_t* from) { return vreinterpretq_s8_u32(vld1q_u32(from)); }
inline int8x8_t load_two_words(const uint32_t* from) { return vreinterpret_s8_u32(vld1_u32(from)); }

// ---- 8 bits ----

template <int Rows>
inline void store_int8(const int32x4_t (&sums)[Rows][kQuads], const IntegerRows& a, const IntegerPanel& panel,
                       float* tile, int64_t stride) {
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < kQuads; ++q) {
      const float32x4_t scale = vmulq_f32(vdupq_n_f32(a.scales[r]), vld1q_f32(panel.scales + 4 * q));
      vst1q_f32(tile + r * stride + 4 * q, vmulq_f32(vcvtq_f32_s32(sums[r][q]), scale));
    }
  }
}

template <int Rows, int lane>
inline void add_lane(const uint32_t* b, const int8x16_t (&x)[Rows], int32x4_t (&sums)[Rows][kQuads]) {
#pragma GCC unroll 4
  for (int q = 0; q < kQuads; ++q) {
    const int8x16_t column = load_bytes(b + 4 * q);
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      sums[r][q] = vdotq_laneq_s32(sums[r][q], column, x[r], lane);
    }
  }
}

// With few rows several steps have sums of their own: a sum that had to wait for the one before would leave the panel's
// memory idle.
template <int Rows, int Chains>
void int8_tile(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  int32x4_t sums[Chains][Rows][kQuads];
#pragma GCC unroll 4
  for (int chain = 0; chain < Chains; ++chain) {
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int q = 0; q < kQuads; ++q) {
        sums[chain][r][q] = vdupq_n_s32(0);
      }
    }
  }
  const uint32_t* b = panel.words;
  const int64_t steps = steps_of_int8(panel.depth);
  int64_t step = 0;
  for (; step + 4 <= steps; step += 4, b += 4 * kPanelRows) {
    int8x16_t x[Rows];
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      x[r] = load_bytes(a.words + r * a.stride + step);
    }
#pragma GCC unroll 4
    for (int line = 0; line < 4; ++line) {
      __builtin_prefetch(b + kPanelRows * (kStepsAhead + line));
    }
    add_lane<Rows, 0>(b, x, sums[0]);
    add_lane<Rows, 1>(b + kPanelRows, x, sums[1 % Chains]);
    add_lane<Rows, 2>(b + 2 * kPanelRows, x, sums[2 % Chains]);
    add_lane<Rows, 3>(b + 3 * kPanelRows, x, sums[3 % Chains]);
  }
  for (; step < steps; ++step, b += kPanelRows) {
    int8x16_t x[Rows];
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      x[r] = vreinterpretq_s8_u32(vdupq_n_u32(a.words[r * a.stride + step]));
    }
    add_lane<Rows, 0>(b, x, sums[0]);
  }
#pragma GCC unroll 4
  for (int chain = 1; chain < Chains; ++chain) {
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int q = 0; q < kQuads; ++q) {
        sums[0][r][q] = vaddq_s32(sums[0][r][q], sums[chain][r][q]);
      }
    }
  }
  store_int8(sums[0], a, panel, tile, stride);
}

// ---- 4 bits ----

inline float32x4_t scales_of_group(HalfType type, const uint16_t* scales) {
  const uint16x4_t bits = vld1_u16(scales);
  return type == HalfType::f16 ? vcvt_f32_f16(vreinterpret_f16_u16(bits))
                               : vreinterpretq_f32_u32(vshll_n_u16(bits, 16));
}

// A group's integers are summed from -8 times the sum of the row's values, since the weights are 8 too large.
template <int Rows>
void int4_tile(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  const uint8x16_t low_halves = vdupq_n_u8(0x0f);
  const int64_t groups = panel.depth / kInt4Group, words_of_values = groups * 2 * kInt4GroupWords;
  const int shift = panel.group == kInt4Group ? 0 : 1;
  const HalfType type = panel.group_scale_type;
  const uint32_t* b = panel.words;
  for (int64_t group = 0; group < groups; ++group) {
    int32x4_t whole[Rows][kQuads];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int q = 0; q < kQuads; ++q) {
        whole[r][q] = vreinterpretq_s32_u32(vdupq_n_u32(a.words[r * a.stride + words_of_values + group]));
      }
    }
#pragma GCC unroll 4
    for (int64_t word = 0; word < kInt4GroupWords; ++word, b += kPanelRows) {
      __builtin_prefetch(b + kPanelRows * kStepsAhead);
      int8x8_t x[Rows];
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        x[r] = load_two_words(a.words + r * a.stride + 2 * (group * kInt4GroupWords + word));
      }
#pragma GCC unroll 4
      for (int q = 0; q < kQuads; ++q) {
        const uint8x16_t both = vreinterpretq_u8_u32(vld1q_u32(b + 4 * q));
        const int8x16_t low = vreinterpretq_s8_u8(vandq_u8(both, low_halves));
        const int8x16_t high = vreinterpretq_s8_u8(vshrq_n_u8(both, 4));
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) {
          whole[r][q] = vdotq_lane_s32(vdotq_lane_s32(whole[r][q], low, x[r], 0), high, x[r], 1);
        }
      }
    }
    const uint16_t* const scales = panel.group_scales + kPanelRows * (group >> shift);
#pragma GCC unroll 4
    for (int q = 0; q < kQuads; ++q) {
      const float32x4_t scale = scales_of_group(type, scales + 4 * q);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        float* const to = tile + r * stride + 4 * q;
        const float32x4_t before = group == 0 ? vdupq_n_f32(0.0F) : vld1q_f32(to);
        vst1q_f32(to, vaddq_f32(before, vmulq_f32(vcvtq_f32_s32(whole[r][q]), scale)));
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < kQuads; ++q) {
      float* const to = tile + r * stride + 4 * q;
      vst1q_f32(to, vmulq_n_f32(vld1q_f32(to), a.scales[r]));
    }
  }
}

using Product = void (*)(const IntegerRows&, const IntegerPanel&, float*, int64_t);

constexpr Product kInt8Products[] = {int8_tile<1, 4>, int8_tile<2, 2>, int8_tile<3, 2>,
                                     int8_tile<4, 1>, int8_tile<5, 1>, int8_tile<6, 1>};
constexpr Product kInt4Products[] = {int4_tile<1>, int4_tile<2>, int4_tile<3>, int4_tile<4>};

inline void in_tiles(const Product* products, int64_t at_once, int64_t rows, const IntegerRows& a,
                     const IntegerPanel& panel, float* tile, int64_t stride) {
  for (int64_t row = 0; row < rows; row += at_once) {
    const int64_t count = rows - row < at_once ? rows - row : at_once;
    products[count - 1]({a.words + row * a.stride, a.stride, a.scales + row}, panel, tile + row * stride, stride);
  }
}

}  // namespace

void multiply_int8_neondotprod(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                               int64_t stride) {
  in_tiles(kInt8Products, kInt8Rows, rows, a, panel, tile, stride);
}

void multiply_int4_neondotprod(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                               int64_t stride) {
  in_tiles(kInt4Products, kInt4Rows, rows, a, panel, tile, stride);
}

}  // namespace heed::cpu
