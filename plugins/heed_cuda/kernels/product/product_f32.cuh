// Products in f32, of operands in f32 or bf16, which is widened: in tiles that a block sums in registers from slices of
// k in shared memory. Each element is a chain of multiply-adds in order of k.
#pragma once

#include "heed_cuda/kernels/product/product_operand.cuh"

namespace heed::cuda {

constexpr int kFloatDepth = 16;
constexpr int kFloatThreads = 256;
constexpr int kFloatSide = 16;  // threads of a block along m and n
constexpr int kFloatGroup = 4;  // neighbours that a thread reads at once

// A thread sums kMicro x kMicro elements: groups of 4 along m and along n, 64 apart.
template <int kMicro>
struct FloatTile {
  static constexpr int kEdge = kFloatSide * kMicro;
  static constexpr int kStride = kEdge + kFloatGroup;  // of a row of a slice
  static constexpr int kLoads = kEdge * kFloatDepth / kFloatThreads;
  static constexpr int kSliceBytes = 2 * kFloatDepth * kStride * 4;
  static constexpr int kSharedBytes = 2 * kSliceBytes;
  static constexpr int kGroups = kMicro / kFloatGroup;

  __device__ static int of_group(int thread, int group) {
    return group * kFloatSide * kFloatGroup + thread * kFloatGroup;
  }
};

// What a thread carries from memory to shared memory, of a slice of one operand: [k][outer].
template <class T, RowsOf kRowsAre, class Tile>
struct FloatSlice {
  float values[Tile::kLoads];

  __device__ static int outer_of(int i) { return kRowsAre == RowsOf::outer ? i / kFloatDepth : i % Tile::kEdge; }
  __device__ static int depth_of(int i) { return kRowsAre == RowsOf::outer ? i % kFloatDepth : i / Tile::kEdge; }

  __device__ void load(const ProductOperand<T>& from, int64_t first, int64_t outer, int64_t first_k, int64_t depth) {
    HEED_UNROLL
    for (int j = 0; j < Tile::kLoads; ++j) {
      const int i = static_cast<int>(threadIdx.x) + j * kFloatThreads;
      const int64_t m = first + outer_of(i), k = first_k + depth_of(i);
      const int64_t at = kRowsAre == RowsOf::outer ? m * from.stride + k : k * from.stride + m;
      values[j] = m < outer && k < depth ? to_float(from.data[at]) : 0.0F;
    }
  }
  __device__ void store(float* shared) const {
    HEED_UNROLL
    for (int j = 0; j < Tile::kLoads; ++j) {
      const int i = static_cast<int>(threadIdx.x) + j * kFloatThreads;
      shared[depth_of(i) * Tile::kStride + outer_of(i)] = values[j];
    }
  }
};

struct alignas(16) FloatGroup {
  float values[kFloatGroup];
};

template <int kMicro>
struct FloatSums {
  using Tile = FloatTile<kMicro>;
  float of_chunk[kMicro][kMicro], total[kMicro][kMicro];

  __device__ void clear() {
    HEED_UNROLL
    for (int i = 0; i < kMicro * kMicro; ++i) {
      of_chunk[i / kMicro][i % kMicro] = total[i / kMicro][i % kMicro] = 0.0F;
    }
  }
  __device__ void end_chunk() {
    HEED_UNROLL
    for (int i = 0; i < kMicro * kMicro; ++i) {
      total[i / kMicro][i % kMicro] += of_chunk[i / kMicro][i % kMicro];
      of_chunk[i / kMicro][i % kMicro] = 0.0F;
    }
  }
  __device__ void add_slice(const float* a, const float* b, int of_m, int of_n) {
    HEED_UNROLL
    for (int k = 0; k < kFloatDepth; ++k) {
      FloatGroup left[Tile::kGroups], right[Tile::kGroups];
      HEED_UNROLL
      for (int group = 0; group < Tile::kGroups; ++group) {
        left[group] = *reinterpret_cast<const FloatGroup*>(a + k * Tile::kStride + Tile::of_group(of_m, group));
        right[group] = *reinterpret_cast<const FloatGroup*>(b + k * Tile::kStride + Tile::of_group(of_n, group));
      }
      HEED_UNROLL
      for (int i = 0; i < kMicro * kMicro; ++i) {
        const int m = i / kMicro, n = i % kMicro;
        of_chunk[m][n] = fmaf(left[m / kFloatGroup].values[m % kFloatGroup],
                              right[n / kFloatGroup].values[n % kFloatGroup], of_chunk[m][n]);
      }
    }
  }
};

// finish(r, c, C[r, c], C[r, c + 1]) for all even c.
template <class A, class B, int kMicro, RowsOf kRowsOfA, RowsOf kRowsOfB, class Finish>
__global__ void __launch_bounds__(kFloatThreads)
    float_product(ProductOperand<A> a, ProductOperand<B> b, ProductSize size, Finish finish) {
  using Tile = FloatTile<kMicro>;
  HEED_SHARED(shared);
  auto* const slices_in_shared = reinterpret_cast<float*>(shared);
  constexpr int kSliceFloats = kFloatDepth * Tile::kStride;
  const int64_t first_m = static_cast<int64_t>(blockIdx.y) * Tile::kEdge;
  const int64_t first_n = static_cast<int64_t>(blockIdx.x) * Tile::kEdge;
  const int64_t slices = ceil_div(size.k, kFloatDepth), slices_of_chunk = chunk_length(size.k) / kFloatDepth;
  FloatSlice<A, kRowsOfA, Tile> next_a;
  FloatSlice<B, kRowsOfB, Tile> next_b;
  const auto load = [&](int64_t slice) {
    next_a.load(a, first_m, size.m, slice * kFloatDepth, size.k);
    next_b.load(b, first_n, size.n, slice * kFloatDepth, size.k);
  };
  const auto store = [&](int64_t slice) {
    float* const to = slices_in_shared + slice % 2 * 2 * kSliceFloats;
    next_a.store(to);
    next_b.store(to + kSliceFloats);
  };

  const int of_m = static_cast<int>(threadIdx.x) / kFloatSide, of_n = static_cast<int>(threadIdx.x) % kFloatSide;
  FloatSums<kMicro> sums;
  sums.clear();
  load(0);
  store(0);
  __syncthreads();
  for (int64_t slice = 0; slice < slices; ++slice) {
    if (slice + 1 < slices) {
      load(slice + 1);
    }
    const float* const at = slices_in_shared + slice % 2 * 2 * kSliceFloats;
    sums.add_slice(at, at + kSliceFloats, of_m, of_n);
    if ((slice + 1) % slices_of_chunk == 0) {
      sums.end_chunk();
    }
    if (slice + 1 < slices) {
      store(slice + 1);  // where the slice before this one was
    }
    __syncthreads();
  }
  sums.end_chunk();
  HEED_UNROLL
  for (int m = 0; m < kMicro; ++m) {
    HEED_UNROLL
    for (int n = 0; n < kMicro; n += 2) {
      const int64_t r = first_m + Tile::of_group(of_m, m / kFloatGroup) + m % kFloatGroup;
      const int64_t c = first_n + Tile::of_group(of_n, n / kFloatGroup) + n % kFloatGroup;
      if (r < size.m && c < size.n) {
        finish(r, c, sums.total[m][n], sums.total[m][n + 1]);
      }
    }
  }
}

}  // namespace heed::cuda
