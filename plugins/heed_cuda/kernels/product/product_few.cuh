// Products of few rows with a weight, which are bound by reading it: all warps of a block sum the same elements, each
// over a chunk of k (product_shape.h), straight from memory. The same steps in the same order as in tiles, so the same
// bits.
#pragma once

#include "heed_cuda/kernels/machine/matrix_units.cuh"
#include "heed_cuda/kernels/product/product_bf16.cuh"
#include "heed_cuda/kernels/product/product_operand.cuh"

namespace heed::cuda {

constexpr int kFewWarps = static_cast<int>(kMostChunks);
constexpr int kFewThreads = kFewWarps * kWarp;

// Adds what the warps have summed, [warp][rows][columns], in order of k, and finishes the elements, two by each thread.
template <int kRows, int kColumns, class Finish>
__device__ inline void finish_chunks(const float* sums, int64_t first_m, int64_t first_n, const ProductSize& size,
                                     const Finish& finish) {
  static_assert(kRows * kColumns <= 2 * kFewThreads);
  const int element = 2 * static_cast<int>(threadIdx.x);
  const int64_t r = first_m + element / kColumns, c = first_n + element % kColumns;
  if (element < kRows * kColumns && r < size.m && c < size.n) {
    float first = 0.0F, second = 0.0F;
    for (int warp = 0; warp < kFewWarps; ++warp) {
      first += sums[warp * kRows * kColumns + element];
      second += sums[warp * kRows * kColumns + element + 1];
    }
    finish(r, c, first, second);
  }
}

// ---- bf16 ----

// This lane's words of row `row` and the slice that begins at k; product_bf16.cuh says how they are dealt out.
__device__ inline Words4 slice_words(const ProductOperand<bf16>& from, int64_t row, int64_t rows, int64_t k,
                                     int64_t depth) {
  k += static_cast<int64_t>(threadIdx.x % 4) * kPieceElements;
  const bf16* const at = from.data + row * from.stride + k;
  const int64_t valid = row < rows ? depth - k : 0;
  Words4 words{};
  if (valid >= kPieceElements && from.aligned) {
    words = *reinterpret_cast<const Words4*>(at);
  } else if (valid > 0) {
    HEED_UNROLL
    for (int i = 0; i < kPieceElements; ++i) {
      words.words[i / 2] |= static_cast<uint32_t>(i < valid ? at[i].bits : 0) << (16 * (i % 2));
    }
  }
  return words;
}

// The words of a step of kChunkUnit, which is two slices.
template <int kTilesM, int kTilesN>
struct FewWords {
  static constexpr int kSlices = static_cast<int>(kChunkUnit) / kSliceDepth;
  Words4 left[kSlices][kTilesM][2], right[kSlices][kTilesN];

  __device__ void load(const ProductOperand<bf16>& a, const ProductOperand<bf16>& b, int64_t first_m, int64_t first_n,
                       const ProductSize& size, int64_t first_k) {
    const int64_t group = threadIdx.x % kWarp / 4;
    HEED_UNROLL
    for (int slice = 0; slice < kSlices; ++slice) {
      const int64_t k = first_k + slice * kSliceDepth;
      HEED_UNROLL
      for (int n = 0; n < kTilesN; ++n) {
        right[slice][n] = slice_words(b, first_n + 8 * n + group, size.n, k, size.k);
      }
      HEED_UNROLL
      for (int m = 0; m < kTilesM; ++m) {
        left[slice][m][0] = slice_words(a, first_m + 16 * m + group, size.m, k, size.k);
        left[slice][m][1] = slice_words(a, first_m + 16 * m + 8 + group, size.m, k, size.k);
      }
    }
  }
  __device__ void add_to(float (&sums)[kTilesM][kTilesN][4]) const {
    HEED_UNROLL
    for (int step = 0; step < 2 * kSlices; ++step) {
      const int slice = step / 2, word = step % 2 * 2;
      HEED_UNROLL
      for (int m = 0; m < kTilesM; ++m) {
        const Words4 &above = left[slice][m][0], &below = left[slice][m][1];
        const LeftWords words{{above.words[word], below.words[word], above.words[word + 1], below.words[word + 1]}};
        HEED_UNROLL
        for (int n = 0; n < kTilesN; ++n) {
          multiply_add(sums[m][n], words, RightWords{{right[slice][n].words[word], right[slice][n].words[word + 1]}});
        }
      }
    }
  }
};

template <int kTilesM, int kTilesN, class Finish>
__global__ void __launch_bounds__(kFewThreads)
    bf16_few(ProductOperand<bf16> a, ProductOperand<bf16> b, ProductSize size, Finish finish) {
  constexpr int kRows = 16 * kTilesM, kColumns = 8 * kTilesN;
  HEED_SHARED(shared);
  auto* const sums_of_warps = reinterpret_cast<float*>(shared);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t first_m = static_cast<int64_t>(blockIdx.y) * kRows,
                first_n = static_cast<int64_t>(blockIdx.x) * kColumns;
  const int64_t chunk = chunk_length(size.k), begin = warp * chunk, end = min(size.k, begin + chunk);
  float sums[kTilesM][kTilesN][4] = {};
  FewWords<kTilesM, kTilesN> words;
  if (begin < end) {
    words.load(a, b, first_m, first_n, size, begin);
  }
  for (int64_t k = begin; k < end; k += kChunkUnit) {
    const FewWords<kTilesM, kTilesN> now = words;
    if (k + kChunkUnit < end) {
      words.load(a, b, first_m, first_n, size, k + kChunkUnit);
    }
    now.add_to(sums);
  }
  HEED_UNROLL
  for (int i = 0; i < kTilesM * kTilesN * 4; ++i) {
    const int m = i / 4 / kTilesN, n = i / 4 % kTilesN, j = i % 4;
    const int row = 16 * m + lane / 4 + j / 2 * 8, column = 8 * n + 2 * (lane % 4) + j % 2;
    sums_of_warps[(warp * kRows + row) * kColumns + column] = sums[m][n][j];
  }
  __syncthreads();
  finish_chunks<kRows, kColumns>(sums_of_warps, first_m, first_n, size, finish);
}

// ---- f32 ----

constexpr int kFewGroup = 4;  // neighbours along k that a lane reads at once

struct alignas(16) FewFloats {
  float values[kFewGroup];
};
struct alignas(8) FewHalves {
  bf16 values[kFewGroup];
};

template <class T>
__device__ inline FewFloats few_floats(const T* from, int64_t valid, bool aligned) {
  FewFloats result;
  if (valid >= kFewGroup && aligned) {
    if constexpr (std::is_same_v<T, float>) {
      result = *reinterpret_cast<const FewFloats*>(from);
    } else {
      const FewHalves halves = *reinterpret_cast<const FewHalves*>(from);
      HEED_UNROLL
      for (int i = 0; i < kFewGroup; ++i) {
        result.values[i] = to_float(halves.values[i]);
      }
    }
    return result;
  }
  for (int i = 0; i < kFewGroup; ++i) {
    result.values[i] = i < valid ? to_float(from[i]) : 0.0F;
  }
  return result;
}

// A lane has one output, of kRows rows.
template <class A, class B, int kRows, class Finish>
__global__ void __launch_bounds__(kFewThreads)
    float_few(ProductOperand<A> a, ProductOperand<B> b, ProductSize size, Finish finish) {
  HEED_SHARED(shared);
  auto* const sums_of_warps = reinterpret_cast<float*>(shared);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t first_m = static_cast<int64_t>(blockIdx.y) * kRows, first_n = static_cast<int64_t>(blockIdx.x) * kWarp;
  const int64_t chunk = chunk_length(size.k), begin = warp * chunk, end = min(size.k, begin + chunk);
  const int64_t n = first_n + lane;
  float sums[kRows] = {};
  for (int64_t k = begin; k < end; k += kFewGroup) {
    const FewFloats right = few_floats(b.data + n * b.stride + k, n < size.n ? size.k - k : 0, b.aligned);
    HEED_UNROLL
    for (int m = 0; m < kRows; ++m) {
      const int64_t row = first_m + m;
      const FewFloats left = few_floats(a.data + row * a.stride + k, row < size.m ? size.k - k : 0, a.aligned);
      HEED_UNROLL
      for (int i = 0; i < kFewGroup; ++i) {
        sums[m] = fmaf(left.values[i], right.values[i], sums[m]);
      }
    }
  }
  HEED_UNROLL
  for (int m = 0; m < kRows; ++m) {
    sums_of_warps[(warp * kRows + m) * kWarp + lane] = sums[m];
  }
  __syncthreads();
  finish_chunks<kRows, kWarp>(sums_of_warps, first_m, first_n, size, finish);
}

}  // namespace heed::cuda
