// vdpbf16ps on 12 rows x 2 vectors of 16 columns.
#include "kernels/cpu/product/product_kernels.h"

#include <immintrin.h>

#include <algorithm>

namespace heed::cpu {
namespace {

constexpr int64_t kColumns = 32;  // of a panel

template <int Rows>
inline void tile_product(int64_t steps, const LeftBlock& a, const float* __restrict panel, float* __restrict tile,
                         int64_t stride, Write write) {
  __m512 sums0[Rows], sums1[Rows];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    sums0[r] = write == Write::add ? _mm512_loadu_ps(tile + r * stride) : _mm512_setzero_ps();
    sums1[r] = write == Write::add ? _mm512_loadu_ps(tile + r * stride + 16) : _mm512_setzero_ps();
  }
  const float* left[3] = {a.data, a.data + 4 * a.row_stride, a.data + 8 * a.row_stride};
  for (int64_t step = 0; step < steps; ++step) {
    _mm_prefetch(reinterpret_cast<const char*>(panel + kWordsAhead), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(panel + kWordsAhead + 16), _MM_HINT_T0);
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

using Product = void (*)(int64_t, const LeftBlock&, const float*, float*, int64_t, Write);

constexpr Product kProducts[] = {
    tile_product<1>, tile_product<2>, tile_product<3>, tile_product<4>,  tile_product<5>,  tile_product<6>,
    tile_product<7>, tile_product<8>, tile_product<9>, tile_product<10>, tile_product<11>, tile_product<12>,
};

// ---- strips of pairs ----

// Activations saved by the forward pass come from memory: their rows are prefetched this far ahead.
constexpr int64_t kRowsAhead = 32;

// 32 columns of a row, of which `count` exist, followed by zeros.
inline __m512i load_columns(const bf16* from, int64_t count) {
  return count >= 32 ? _mm512_loadu_si512(from)
                     : _mm512_maskz_loadu_epi16((1U << std::max<int64_t>(count, 0)) - 1, from);
}

// The pairs that two rows form, column by column.
inline void store_pairs(__m512i even, __m512i odd, float* to) {
  alignas(64) static constexpr uint16_t kFirstHalf[] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                        8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i first_half = _mm512_load_si512(kFirstHalf);
  const __m512i second_half = _mm512_add_epi16(first_half, _mm512_set1_epi16(16));
  _mm512_storeu_si512(to, _mm512_permutex2var_epi16(even, first_half, odd));
  _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi16(even, second_half, odd));
}

}  // namespace

void write_bf16_pair_strips(const HostView<const bf16>& from, const ColumnBlock& block, float* to) {
  for (int64_t step = 0; step < block.steps; ++step) {
    const int64_t k = 2 * (block.first_step + step);
    const bool odd_exists = k + 1 < from.rows;
    const bf16* const even = from.row(k);
    const bf16* const odd = odd_exists ? from.row(k + 1) : even;
    const bf16* const ahead = from.row(std::min(k + kRowsAhead, from.rows - 1));
    float* out = to + step * block.stride;
    for (int64_t c = 0; c < block.columns; c += block.strip, out += block.distance) {
      for (int64_t i = 0; i < block.strip; i += 32) {
        const int64_t column = block.first_column + c + i, count = from.columns - column;
        _mm_prefetch(ahead + column, _MM_HINT_T0);
        _mm_prefetch(ahead + from.stride + column, _MM_HINT_T0);
        store_pairs(load_columns(even + column, count), load_columns(odd + column, odd_exists ? count : 0), out + i);
      }
    }
  }
}

void multiply_bf16_pairs(int64_t rows, int64_t steps, const LeftBlock& a, const RightBlock& b, float* tile,
                         int64_t stride, Write write) {
  const Product product = kProducts[rows - 1];
  for (int64_t panel = 0; panel < b.panels; ++panel) {
    product(steps, a, b.data + panel * b.distance, tile + panel * kColumns, stride, write);
  }
}

}  // namespace heed::cpu
