#include "kernels/cpu/machine/prefetch_level.h"
#include "kernels/cpu/product/integer_kernels.h"

// GCC 12 takes the undefined operands in its own header for mistakes (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace heed::cpu {
namespace {

inline __m512i broadcast(const uint32_t* word) { return _mm512_set1_epi32(static_cast<int>(*word)); }

template <CacheLevel level>
inline void fetch(const uint32_t* line) {
  constexpr auto kHint = level == CacheLevel::first ? _MM_HINT_T0 : _MM_HINT_T1;
  _mm_prefetch(reinterpret_cast<const char*>(line), kHint);
}

// ---- 8 bits ----

// A tile of sums, too large by 128 times the columns' own sums, to f32 in the same memory. Apart from the loops below,
// whose sums GCC would otherwise keep in memory.
void finish(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < 32; c += 16) {
      float* const to = tile + r * stride + c;
      const __m512i too_much = _mm512_slli_epi32(_mm512_loadu_si512(panel.sums + c), 7);
      const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(a.scales[r]), _mm512_loadu_ps(panel.scales + c));
      const __m512i sums = _mm512_sub_epi32(_mm512_loadu_si512(to), too_much);
      _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_cvtepi32_ps(sums), scale));
    }
  }
}

// vpdpbusd on Rows rows x two panels, each a vector wide. With few rows several steps have sums of their own: a sum
// that had to wait for the one before would leave the memory idle.
template <int Rows, int Chains, CacheLevel level>
void int8_tile(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  __m512i sums0[Rows][Chains], sums1[Rows][Chains];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    for (int chain = 0; chain < Chains; ++chain) {
      sums0[r][chain] = sums1[r][chain] = _mm512_setzero_si512();
    }
  }
  const int64_t steps = steps_of_int8(panel.depth), words = int8_panel_words(panel.depth);
  const uint32_t* left[3] = {a.words, a.words + 4 * a.stride, a.words + 8 * a.stride};
  const uint32_t* b = panel.words;
  const auto add_step = [&](int chain, const uint32_t* ahead) {
    const __m512i b0 = _mm512_load_si512(b), b1 = _mm512_load_si512(b + words);
    fetch<level>(ahead);
    fetch<level>(ahead + words);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const __m512i x = broadcast(left[r / 4] + r % 4 * a.stride);
      sums0[r][chain] = _mm512_dpbusd_epi32(sums0[r][chain], x, b0);
      sums1[r][chain] = _mm512_dpbusd_epi32(sums1[r][chain], x, b1);
    }
    b += 16;
    ++left[0];
    ++left[1];
    ++left[2];
  };
  int64_t step = 0;
  for (; step + Chains <= steps; step += Chains) {
    // At the end of the first panel, the second has been read: the pair that follows comes next.
    const uint32_t* ahead = b + 16 * kStepsAhead + (step + kStepsAhead >= steps ? words : 0);
#pragma GCC unroll 4
    for (int chain = 0; chain < Chains; ++chain, ahead += 16) {
      add_step(chain, ahead);
    }
  }
  for (; step < steps; ++step) {
    add_step(0, b);
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    for (int chain = 1; chain < Chains; ++chain) {
      sums0[r][0] = _mm512_add_epi32(sums0[r][0], sums0[r][chain]);
      sums1[r][0] = _mm512_add_epi32(sums1[r][0], sums1[r][chain]);
    }
    _mm512_storeu_si512(tile + r * stride, sums0[r][0]);
    _mm512_storeu_si512(tile + r * stride + 16, sums1[r][0]);
  }
  finish(Rows, a, panel, tile, stride);
}

// One or two rows, which memory's speed decides, times one panel: weights are read from end to end.
template <int Rows, int Chains, CacheLevel level>
void int8_panel(const IntegerRows& a, const uint32_t* panel, int64_t steps, float* tile, int64_t stride) {
  __m512i sums[Rows][Chains];
  for (int r = 0; r < Rows; ++r) {
    for (int chain = 0; chain < Chains; ++chain) {
      sums[r][chain] = _mm512_setzero_si512();
    }
  }
  const auto add_step = [&](int64_t step, int chain) {
    const __m512i b = _mm512_load_si512(panel + 16 * step);
    fetch<level>(panel + 16 * (step + kStepsAhead));
#pragma GCC unroll 2
    for (int r = 0; r < Rows; ++r) {
      sums[r][chain] = _mm512_dpbusd_epi32(sums[r][chain], broadcast(a.words + r * a.stride + step), b);
    }
  };
  int64_t step = 0;
  for (; step + Chains <= steps; step += Chains) {
#pragma GCC unroll 8
    for (int chain = 0; chain < Chains; ++chain) {
      add_step(step + chain, chain);
    }
  }
  for (; step < steps; ++step) {
    add_step(step, 0);
  }
  for (int r = 0; r < Rows; ++r) {
    for (int chain = 1; chain < Chains; ++chain) {
      sums[r][0] = _mm512_add_epi32(sums[r][0], sums[r][chain]);
    }
    _mm512_storeu_si512(tile + r * stride, sums[r][0]);
  }
}

template <int Rows, int Chains, CacheLevel level>
void int8_few_rows(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  const int64_t steps = steps_of_int8(panel.depth);
  int8_panel<Rows, Chains, level>(a, panel.words, steps, tile, stride);
  int8_panel<Rows, Chains, level>(a, panel.words + int8_panel_words(panel.depth), steps, tile + 16, stride);
  finish(Rows, a, panel, tile, stride);
}

// ---- 4 bits ----

inline __m512 scales_of_group(HalfType type, const uint16_t* scales) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales));
  return type == HalfType::f16 ? _mm512_cvtph_ps(bits)
                               : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// One panel. A group's integers are summed from -8 times the sum of the row's values, since the weights are 8 too
// large.
template <int Rows>
void int4_panel(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  const uint32_t* b = panel.words;
  const int64_t groups = panel.depth / kInt4Group;
  const int shift = panel.group == kInt4Group ? 0 : 1;
  const HalfType type = panel.group_scale_type;
  const __m512i low_halves = _mm512_set1_epi8(0x0f);
  const int64_t words_of_values = groups * 2 * kInt4GroupWords;
  __m512 sums[Rows];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    sums[r] = _mm512_setzero_ps();
  }
  const uint32_t* left[3] = {a.words, a.words + 4 * a.stride, a.words + 8 * a.stride};
  for (int64_t group = 0; group < groups; ++group) {
    __m512i whole[Rows];
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      whole[r] = broadcast(left[r / 4] + r % 4 * a.stride + words_of_values - group * 2 * kInt4GroupWords + group);
    }
#pragma GCC unroll 4
    for (int64_t word = 0; word < kInt4GroupWords; ++word) {
      fetch<CacheLevel::first>(b + 16 * (word + kStepsAhead));
      const __m512i both = _mm512_loadu_si512(b + 16 * word);
      const __m512i low = _mm512_and_si512(both, low_halves);
      const __m512i high = _mm512_and_si512(_mm512_srli_epi32(both, 4), low_halves);
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        const uint32_t* const x = left[r / 4] + r % 4 * a.stride + 2 * word;
        whole[r] = _mm512_dpbusd_epi32(whole[r], low, broadcast(x));
        whole[r] = _mm512_dpbusd_epi32(whole[r], high, broadcast(x + 1));
      }
    }
    const __m512 scale = scales_of_group(type, panel.group_scales + 16 * (group >> shift));
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      sums[r] = _mm512_add_ps(sums[r], _mm512_mul_ps(_mm512_cvtepi32_ps(whole[r]), scale));
    }
    b += 16 * kInt4GroupWords;
    left[0] += 2 * kInt4GroupWords;
    left[1] += 2 * kInt4GroupWords;
    left[2] += 2 * kInt4GroupWords;
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    _mm512_storeu_ps(tile + r * stride, _mm512_mul_ps(sums[r], _mm512_set1_ps(a.scales[r])));
  }
}

template <int Rows>
void int4_tile(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  int4_panel<Rows>(a, panel, tile, stride);
  IntegerPanel next = panel;
  next.words += int4_panel_words(panel.depth);
  next.group_scales += 16 * (panel.depth / panel.group);
  int4_panel<Rows>(a, next, tile + 16, stride);
}

// ---- 8 bits in groups ----

// One panel, whose values become unsigned when 128 is added to them. A group's integers are summed from -128 times the
// sum of the row's values.
template <int Rows, CacheLevel level>
void int8_group_panel(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  const uint32_t* b = panel.words;
  const int64_t groups = panel.depth / kInt8Group, words_of_values = groups * kInt8GroupWords;
  const __m512i top_bits = _mm512_set1_epi8(-128);
  __m512 sums[Rows];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    sums[r] = _mm512_setzero_ps();
  }
  const uint32_t* left[3] = {a.words, a.words + 4 * a.stride, a.words + 8 * a.stride};
  for (int64_t group = 0; group < groups; ++group) {
    __m512i whole[Rows];
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      whole[r] = broadcast(left[r / 4] + r % 4 * a.stride + words_of_values - group * kInt8GroupWords + group);
    }
#pragma GCC unroll 8
    for (int64_t word = 0; word < kInt8GroupWords; ++word) {
      fetch<level>(b + 16 * (word + kStepsAhead));
      const __m512i values = _mm512_xor_si512(_mm512_load_si512(b + 16 * word), top_bits);
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        whole[r] = _mm512_dpbusd_epi32(whole[r], values, broadcast(left[r / 4] + r % 4 * a.stride + word));
      }
    }
    const __m512 scale = scales_of_group(HalfType::f16, panel.group_scales + 16 * group);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      sums[r] = _mm512_add_ps(sums[r], _mm512_mul_ps(_mm512_cvtepi32_ps(whole[r]), scale));
    }
    b += 16 * kInt8GroupWords;
    left[0] += kInt8GroupWords;
    left[1] += kInt8GroupWords;
    left[2] += kInt8GroupWords;
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    _mm512_storeu_ps(tile + r * stride, _mm512_mul_ps(sums[r], _mm512_set1_ps(a.scales[r])));
  }
}

template <int Rows, CacheLevel level>
void int8_groups_tile(const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  int8_group_panel<Rows, level>(a, panel, tile, stride);
  IntegerPanel next = panel;
  next.words += int8_panel_words(panel.depth);
  next.group_scales += 16 * (panel.depth / kInt8Group);
  int8_group_panel<Rows, level>(a, next, tile + 16, stride);
}

using Product = void (*)(const IntegerRows&, const IntegerPanel&, float*, int64_t);

template <CacheLevel l>
constexpr Product kInt8Products[] = {
    int8_few_rows<1, 8, l>, int8_few_rows<2, 4, l>, int8_tile<3, 2, l>,  int8_tile<4, 2, l>,
    int8_tile<5, 1, l>,     int8_tile<6, 1, l>,     int8_tile<7, 1, l>,  int8_tile<8, 1, l>,
    int8_tile<9, 1, l>,     int8_tile<10, 1, l>,    int8_tile<11, 1, l>, int8_tile<12, 1, l>,
};
constexpr Product kInt4Products[] = {
    int4_tile<1>, int4_tile<2>, int4_tile<3>, int4_tile<4>,  int4_tile<5>,  int4_tile<6>,
    int4_tile<7>, int4_tile<8>, int4_tile<9>, int4_tile<10>, int4_tile<11>, int4_tile<12>,
};
template <CacheLevel l>
constexpr Product kInt8GroupProducts[] = {
    int8_groups_tile<1, l>, int8_groups_tile<2, l>,  int8_groups_tile<3, l>,  int8_groups_tile<4, l>,
    int8_groups_tile<5, l>, int8_groups_tile<6, l>,  int8_groups_tile<7, l>,  int8_groups_tile<8, l>,
    int8_groups_tile<9, l>, int8_groups_tile<10, l>, int8_groups_tile<11, l>, int8_groups_tile<12, l>,
};

}  // namespace

void multiply_int8_avx512vnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                              int64_t stride) {
  const Product* const products =
      level_for_blocks() == CacheLevel::first ? kInt8Products<CacheLevel::first> : kInt8Products<CacheLevel::second>;
  products[rows - 1](a, panel, tile, stride);
}

void multiply_int4_avx512vnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                              int64_t stride) {
  kInt4Products[rows - 1](a, panel, tile, stride);
}

void multiply_int8_groups_avx512vnni(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile,
                                     int64_t stride) {
  const Product* const products = level_for_blocks() == CacheLevel::first ? kInt8GroupProducts<CacheLevel::first>
                                                                          : kInt8GroupProducts<CacheLevel::second>;
  products[rows - 1](a, panel, tile, stride);
}

}  // namespace heed::cpu
