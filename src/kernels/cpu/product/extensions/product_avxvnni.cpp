#include "kernels/cpu/product/integer_kernels.h"

#include <immintrin.h>

namespace heed::cpu {
namespace {

// In 16 registers: sums of 6 rows x 2 vectors of 8 columns, both vectors of a step, and a broadcast word.
constexpr int kColumns = 8;
static_assert(2 * kColumns == kPanelRows);

inline __m256i load_words(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }
inline void store_words(void* at, __m256i x) { _mm256_storeu_si256(static_cast<__m256i*>(at), x); }
inline void fetch(const uint32_t* line) { _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_T0); }
inline __m256i broadcast(const uint32_t* word) { return _mm256_set1_epi32(static_cast<int>(*word)); }

// ---- 8 bits ----

// A tile of sums, too large by 128 times the columns' own sums, to f32 in the same memory.
void finish(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < 2 * kColumns; c += kColumns) {
      float* const to = tile + r * stride + c;
      const __m256i too_much = _mm256_slli_epi32(load_words(panel.sums + c), 7);
      const __m256 scale = _mm256_mul_ps(_mm256_set1_ps(a.scales[r]), _mm256_loadu_ps(panel.scales + c));
      const __m256i sums = _mm256_sub_epi32(load_words(to), too_much);
      _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_cvtepi32_ps(sums), scale));
    }
  }
}

// vpdpbusd on Rows rows x 2 vectors. With few rows several steps have sums of their own: a sum that had to wait for the
// one before would leave the panel's memory idle.
template <int Rows, int Chains>
void int8_tile(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  __m256i sums0[Rows][Chains], sums1[Rows][Chains];
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int chain = 0; chain < Chains; ++chain) {
      sums0[r][chain] = sums1[r][chain] = _mm256_setzero_si256();
    }
  }
  const auto add_step = [&](int64_t step, int chain) {
    const uint32_t* const b = panel.words + 2 * kColumns * step;
    const __m256i b0 = load_words(b), b1 = load_words(b + kColumns);
    fetch(b + kPanelRows * kStepsAhead);
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      const __m256i x = broadcast(a.words + r * a.stride + step);
      sums0[r][chain] = _mm256_dpbusd_avx_epi32(sums0[r][chain], x, b0);
      sums1[r][chain] = _mm256_dpbusd_avx_epi32(sums1[r][chain], x, b1);
    }
  };
  const int64_t steps = steps_of_int8(panel.depth);
  int64_t step = 0;
  for (; step + Chains <= steps; step += Chains) {
#pragma GCC unroll 4
    for (int chain = 0; chain < Chains; ++chain) {
      add_step(step + chain, chain);
    }
  }
  for (; step < steps; ++step) {
    add_step(step, 0);
  }
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int chain = 1; chain < Chains; ++chain) {
      sums0[r][0] = _mm256_add_epi32(sums0[r][0], sums0[r][chain]);
      sums1[r][0] = _mm256_add_epi32(sums1[r][0], sums1[r][chain]);
    }
    store_words(tile + r * stride, sums0[r][0]);
    store_words(tile + r * stride + kColumns, sums1[r][0]);
  }
  finish(Rows, a, panel, tile, stride);
}

// ---- 4 bits ----

inline __m256 scales_of_group(HalfType type, const uint16_t* scales) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(scales));
  return type == HalfType::f16 ? _mm256_cvtph_ps(bits)
                               : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

// A group's integers are summed from -8 times the sum of the row's values, since the weights are 8 too large.
template <int Rows>
void int4_tile(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  const __m256i low_halves = _mm256_set1_epi8(0x0f);
  const int64_t groups = panel.depth / kInt4Group, words_of_values = groups * 2 * kInt4GroupWords;
  const int shift = panel.group == kInt4Group ? 0 : 1;
  const HalfType type = panel.group_scale_type;
  const uint32_t* b = panel.words;
  __m256 sums[Rows][2];
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    sums[r][0] = sums[r][1] = _mm256_setzero_ps();
  }
  for (int64_t group = 0; group < groups; ++group) {
    __m256i whole[Rows][2];
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      whole[r][0] = whole[r][1] = broadcast(a.words + r * a.stride + words_of_values + group);
    }
    const auto add = [&](const uint32_t* left, __m256i b0, __m256i b1) {
#pragma GCC unroll 6
      for (int r = 0; r < Rows; ++r) {
        const __m256i x = broadcast(left + r * a.stride);
        whole[r][0] = _mm256_dpbusd_avx_epi32(whole[r][0], b0, x);
        whole[r][1] = _mm256_dpbusd_avx_epi32(whole[r][1], b1, x);
      }
    };
#pragma GCC unroll 4
    for (int64_t word = 0; word < kInt4GroupWords; ++word, b += kPanelRows) {
      fetch(b + kPanelRows * kStepsAhead);
      const uint32_t* const left = a.words + 2 * (group * kInt4GroupWords + word);
      const __m256i b0 = load_words(b), b1 = load_words(b + kColumns);
      add(left, _mm256_and_si256(b0, low_halves), _mm256_and_si256(b1, low_halves));
      add(left + 1, _mm256_and_si256(_mm256_srli_epi32(b0, 4), low_halves),
          _mm256_and_si256(_mm256_srli_epi32(b1, 4), low_halves));
    }
    const uint16_t* const scales = panel.group_scales + kPanelRows * (group >> shift);
    const __m256 scale0 = scales_of_group(type, scales), scale1 = scales_of_group(type, scales + kColumns);
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      sums[r][0] = _mm256_add_ps(sums[r][0], _mm256_mul_ps(_mm256_cvtepi32_ps(whole[r][0]), scale0));
      sums[r][1] = _mm256_add_ps(sums[r][1], _mm256_mul_ps(_mm256_cvtepi32_ps(whole[r][1]), scale1));
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    const __m256 scale = _mm256_set1_ps(a.scales[r]);
    _mm256_storeu_ps(tile + r * stride, _mm256_mul_ps(sums[r][0], scale));
    _mm256_storeu_ps(tile + r * stride + kColumns, _mm256_mul_ps(sums[r][1], scale));
  }
}

// ---- 8 bits in groups ----

// The weights become unsigned when 128 is added to them: a group's integers are summed from -128 times the sum of the
// row's values.
template <int Rows>
void int8_groups_tile(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  const __m256i top_bits = _mm256_set1_epi8(-128);
  const int64_t groups = panel.depth / kInt8Group, words_of_values = groups * kInt8GroupWords;
  const uint32_t* b = panel.words;
  for (int64_t group = 0; group < groups; ++group) {
    __m256i whole[Rows][2];
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      whole[r][0] = whole[r][1] = broadcast(a.words + r * a.stride + words_of_values + group);
    }
#pragma GCC unroll 8
    for (int64_t word = 0; word < kInt8GroupWords; ++word, b += kPanelRows) {
      fetch(b + kPanelRows * kStepsAhead);
      const uint32_t* const left = a.words + group * kInt8GroupWords + word;
      const __m256i b0 = _mm256_xor_si256(load_words(b), top_bits);
      const __m256i b1 = _mm256_xor_si256(load_words(b + kColumns), top_bits);
#pragma GCC unroll 6
      for (int r = 0; r < Rows; ++r) {
        const __m256i x = broadcast(left + r * a.stride);
        whole[r][0] = _mm256_dpbusd_avx_epi32(whole[r][0], b0, x);
        whole[r][1] = _mm256_dpbusd_avx_epi32(whole[r][1], b1, x);
      }
    }
    const uint16_t* const scales = panel.group_scales + kPanelRows * group;
    const __m256 scale[] = {scales_of_group(HalfType::f16, scales), scales_of_group(HalfType::f16, scales + kColumns)};
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        float* const to = tile + r * stride + half * kColumns;
        const __m256 before = group == 0 ? _mm256_setzero_ps() : _mm256_loadu_ps(to);
        _mm256_storeu_ps(to, _mm256_add_ps(before, _mm256_mul_ps(_mm256_cvtepi32_ps(whole[r][half]), scale[half])));
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    const __m256 scale = _mm256_set1_ps(a.scales[r]);
    float* const to = tile + r * stride;
    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_loadu_ps(to), scale));
    _mm256_storeu_ps(to + kColumns, _mm256_mul_ps(_mm256_loadu_ps(to + kColumns), scale));
  }
}

using Product = void (*)(const IntegerRows&, const IntegerPanel&, float*, int64_t);

constexpr Product kInt8Products[] = {int8_tile<1, 4>, int8_tile<2, 2>, int8_tile<3, 2>,
                                     int8_tile<4, 1>, int8_tile<5, 1>, int8_tile<6, 1>};
constexpr Product kInt4Products[] = {int4_tile<1>, int4_tile<2>, int4_tile<3>,
                                     int4_tile<4>, int4_tile<5>, int4_tile<6>};
constexpr Product kInt8GroupProducts[] = {int8_groups_tile<1>, int8_groups_tile<2>, int8_groups_tile<3>,
                                          int8_groups_tile<4>, int8_groups_tile<5>, int8_groups_tile<6>};

}  // namespace

void multiply_int8_avxvnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  kInt8Products[rows - 1](a, panel, tile, stride);
}

void multiply_int4_avxvnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  kInt4Products[rows - 1](a, panel, tile, stride);
}

void multiply_int8_groups_avxvnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                                  int64_t stride) {
  kInt8GroupProducts[rows - 1](a, panel, tile, stride);
}

}  // namespace heed::cpu
