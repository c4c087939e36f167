#include "kernels/cpu/product_int8_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

namespace heed::cpu {
namespace {

inline __m512i broadcast(const uint32_t* word) { return _mm512_set1_epi32(static_cast<int>(*word)); }

// vpdpbusd on Rows rows x 2 vectors of 16 columns.
template <int Rows>
inline void tile_product(int64_t steps, const Int8Rows& a, const uint32_t* __restrict panel, int32_t* __restrict tile,
                         int64_t stride) {
  __m512i sums0[Rows], sums1[Rows];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    sums0[r] = sums1[r] = _mm512_setzero_si512();
  }
  const uint32_t* left[3] = {a.words, a.words + 4 * a.stride, a.words + 8 * a.stride};
  for (int64_t step = 0; step < steps; ++step) {
    const __m512i b0 = _mm512_load_si512(panel), b1 = _mm512_load_si512(panel + 16);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const __m512i x = broadcast(left[r / 4] + r % 4 * a.stride);
      sums0[r] = _mm512_dpbusd_epi32(sums0[r], x, b0);
      sums1[r] = _mm512_dpbusd_epi32(sums1[r], x, b1);
    }
    panel += 32;
    ++left[0];
    ++left[1];
    ++left[2];
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    _mm512_storeu_si512(tile + r * stride, sums0[r]);
    _mm512_storeu_si512(tile + r * stride + 16, sums1[r]);
  }
}

// The same for few rows: several steps have sums of their own. A sum that had to wait for the one before would leave the
// panel's memory idle.
template <int Rows, int Chains>
inline void few_rows_product(int64_t steps, const Int8Rows& a, const uint32_t* __restrict panel,
                             int32_t* __restrict tile, int64_t stride) {
  __m512i sums0[Rows][Chains], sums1[Rows][Chains];
  for (int r = 0; r < Rows; ++r) {
    for (int chain = 0; chain < Chains; ++chain) {
      sums0[r][chain] = sums1[r][chain] = _mm512_setzero_si512();
    }
  }
  const auto add_step = [&](int64_t step, int chain) {
    const __m512i b0 = _mm512_load_si512(panel + 32 * step), b1 = _mm512_load_si512(panel + 32 * step + 16);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const __m512i x = broadcast(a.words + r * a.stride + step);
      sums0[r][chain] = _mm512_dpbusd_epi32(sums0[r][chain], x, b0);
      sums1[r][chain] = _mm512_dpbusd_epi32(sums1[r][chain], x, b1);
    }
  };
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
  for (int r = 0; r < Rows; ++r) {
    for (int chain = 1; chain < Chains; ++chain) {
      sums0[r][0] = _mm512_add_epi32(sums0[r][0], sums0[r][chain]);
      sums1[r][0] = _mm512_add_epi32(sums1[r][0], sums1[r][chain]);
    }
    _mm512_storeu_si512(tile + r * stride, sums0[r][0]);
    _mm512_storeu_si512(tile + r * stride + 16, sums1[r][0]);
  }
}

using Product = void (*)(int64_t, const Int8Rows&, const uint32_t*, int32_t*, int64_t);

constexpr Product kProducts[] = {
    few_rows_product<1, 4>, few_rows_product<2, 4>, few_rows_product<3, 2>, few_rows_product<4, 2>,
    tile_product<5>,        tile_product<6>,        tile_product<7>,        tile_product<8>,
    tile_product<9>,        tile_product<10>,       tile_product<11>,       tile_product<12>,
};

}  // namespace

void multiply_int8_avx512vnni(int64_t rows, int64_t steps, const Int8Rows& a, const uint32_t* panel, int32_t* tile,
                              int64_t stride) {
  kProducts[rows - 1](steps, a, panel, tile, stride);
}

}  // namespace heed::cpu

#else

namespace heed::cpu {

void multiply_int8_avx512vnni(int64_t, int64_t, const Int8Rows&, const uint32_t*, int32_t*, int64_t) {}

}  // namespace heed::cpu

#endif
