#include "kernels/cpu/product_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace heed::cpu {
namespace {

template <int Rows>
inline void tile_product(int64_t steps, LeftBlock a, const float* __restrict panel, float* __restrict tile,
                         int64_t stride, Write write) {
  __m512 sums0[Rows], sums1[Rows];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    sums0[r] = write == Write::add ? _mm512_loadu_ps(tile + r * stride) : _mm512_setzero_ps();
    sums1[r] = write == Write::add ? _mm512_loadu_ps(tile + r * stride + 16) : _mm512_setzero_ps();
  }
  const float* left[3] = {a.data, a.data + 4 * a.row_stride, a.data + 8 * a.row_stride};
  for (int64_t step = 0; step < steps; ++step) {
    _mm_prefetch(panel + 256, _MM_HINT_T0);
    _mm_prefetch(panel + 272, _MM_HINT_T0);
    const __m512bh b0 = (__m512bh)_mm512_load_ps(panel);
    const __m512bh b1 = (__m512bh)_mm512_load_ps(panel + 16);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const __m512bh x = (__m512bh)_mm512_set1_ps(left[r / 4][r % 4 * a.row_stride]);
      sums0[r] = _mm512_dpbf16_ps(sums0[r], x, b0);
      sums1[r] = _mm512_dpbf16_ps(sums1[r], x, b1);
    }
    panel += 32;
    left[0] += a.step_stride;
    left[1] += a.step_stride;
    left[2] += a.step_stride;
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    _mm512_storeu_ps(tile + r * stride, sums0[r]);
    _mm512_storeu_ps(tile + r * stride + 16, sums1[r]);
  }
}

using Product = void (*)(int64_t, LeftBlock, const float*, float*, int64_t, Write);

constexpr Product kProducts[] = {
    tile_product<1>, tile_product<2>, tile_product<3>, tile_product<4>,  tile_product<5>,  tile_product<6>,
    tile_product<7>, tile_product<8>, tile_product<9>, tile_product<10>, tile_product<11>, tile_product<12>,
};

}  // namespace

void multiply_pairs_avx512bf16(int64_t rows, int64_t steps, LeftBlock a, const float* panel, float* tile,
                               int64_t stride, Write write) {
  kProducts[rows - 1](steps, a, panel, tile, stride, write);
}

}  // namespace heed::cpu

#else

namespace heed::cpu {

void multiply_pairs_avx512bf16(int64_t, int64_t, LeftBlock, const float*, float*, int64_t, Write) {}

}  // namespace heed::cpu

#endif
