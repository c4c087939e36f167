// A row as integers, by a block of threads.
#pragma once

#include "heed_cuda/kernels/product/integer_rows.h"
#include "heed_cuda/kernels/product/packed_weights.h"

namespace heed::cuda {

struct RowQuantization {
  Elements x;
  int64_t columns, padded;  // the latter a multiple of kInt4Block
  float input_scale;
  IntegerOrder order;
};

__device__ inline int64_t column_in_block_order(int64_t byte) {
  const int64_t in_block = byte % kInt4Block, member = in_block / 32, group = in_block % 32 / 8, rest = in_block % 8;
  return byte - in_block + 32 * group + 16 * (rest / 4) + 4 * member + rest % 4;
}

// of_warps: shared, a float for each warp.
__device__ inline float largest_of_block(float x, float* of_warps) {
  x = warp_max(x);
  if (threadIdx.x % kWarp == 0) {
    of_warps[threadIdx.x / kWarp] = x;
  }
  __syncthreads();
  for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) {
    x = fmaxf(x, of_warps[warp]);
  }
  return x;
}

// Writes task.padded integers, four by each thread at a time, and returns their scale.
__device__ inline float quantize_row(const RowQuantization& task, int64_t row, int8_t* values, float* of_warps) {
  float scale = task.input_scale, inverse = 1.0F / task.input_scale;
  if (task.input_scale <= 0.0F) {
    float largest = 0.0F;
    for (int64_t c = threadIdx.x; c < task.columns; c += blockDim.x) {
      largest = fmaxf(largest, fabsf(task.x.get(row, c)));
    }
    largest = largest_of_block(largest, of_warps);
    inverse = largest > kLeastMagnitude ? 127.0F / largest : 0.0F;
    scale = largest / 127.0F;
  }
  auto* const words = reinterpret_cast<uint32_t*>(values);
  for (int64_t word = threadIdx.x; word < task.padded / 4; word += blockDim.x) {
    const int64_t first = task.order == IntegerOrder::rows ? 4 * word : column_in_block_order(4 * word);
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) {
      const float x = first + i < task.columns ? task.x.get(row, first + i) * inverse : 0.0F;
      const int value = __float2int_rn(fminf(127.0F, fmaxf(-127.0F, x)));
      bits |= (static_cast<uint32_t>(value) & 0xffU) << (8 * i);
    }
    words[word] = bits;
  }
  return scale;
}

}  // namespace heed::cuda
