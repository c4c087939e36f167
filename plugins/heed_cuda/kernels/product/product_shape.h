// Products are C[m, n] = sum over k of A[m, k] B[n, k], whatever the order of each operand in memory.
#pragma once

#include <cstdint>

#include "base/rounding.h"

namespace heed::cuda {

// What a row of an operand's memory holds: the elements of one m (or n), or of one k.
enum class RowsOf : uint8_t { outer, k };

struct ProductSize {
  int64_t m = 0, n = 0, k = 0;
};

// Sums are over chunks of k, added in order: chunks can be summed by different warps, and have the same bits as when
// one warp sums them all. Their length depends on the depth alone.
constexpr int64_t kMostChunks = 8;
constexpr int64_t kChunkUnit = 64;
constexpr int64_t chunk_length(int64_t k) {
  const int64_t length = round_up(ceil_div(k, kMostChunks), kChunkUnit);
  return length > 0 ? length : kChunkUnit;
}

}  // namespace heed::cuda
