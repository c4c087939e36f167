// The operands of products: C[m, n] = sum over k of A[m, k] B[n, k], whatever the order of each in memory.
#pragma once

#include "base/rounding.h"
#include "heed_cuda/device/language.h"

#ifdef __CUDACC__
#define HEED_UNROLL _Pragma("unroll")
#else
#define HEED_UNROLL
#endif

namespace heed::cuda {

// A row of memory holds the elements of one m (or n), or of one k.
enum class RowsOf : uint8_t { outer, k };

template <class T>
struct ProductOperand {
  const T* data = nullptr;
  int64_t stride = 0;
  bool aligned = false;  // rows begin at multiples of 16 bytes
};

struct ProductSize {
  int64_t m = 0, n = 0, k = 0;
};

// Sums are over chunks of k, added in order: chunks can be summed by different warps, and have the same bits as when one
// warp sums them all. Their length depends on the depth alone.
constexpr int64_t kMostChunks = 8;
constexpr int64_t kChunkUnit = 64;
constexpr int64_t chunk_length(int64_t k) {
  const int64_t length = round_up(ceil_div(k, kMostChunks), kChunkUnit);
  return length > 0 ? length : kChunkUnit;
}

}  // namespace heed::cuda
