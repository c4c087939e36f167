#include "heed_cuda/kernels/integer_rows.h"

#include "base/rounding.h"
#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/packed_weights.h"
#include "kernels/integer_rows.h"

namespace heed::cuda {
namespace {

constexpr int kQuantizeThreads = 128;

struct QuantizeRows {
  Elements x;
  int64_t columns, padded;
  float input_scale;
  IntegerOrder order;
  int8_t* values;  // [rows, padded]
  float* scales;
};

__device__ inline int64_t column_in_block_order(int64_t byte) {
  const int64_t in_block = byte % kInt4Block, member = in_block / 32, group = in_block % 32 / 8, rest = in_block % 8;
  return byte - in_block + 32 * group + 16 * (rest / 4) + 4 * member + rest % 4;
}

__device__ float largest_of_block(float x, float* shared) {
  x = warp_max(x);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  if (threadIdx.x % kWarp == 0) {
    shared[warp] = x;
  }
  __syncthreads();
  for (int other = 0; other < kQuantizeThreads / kWarp; ++other) {
    x = fmaxf(x, shared[other]);
  }
  return x;
}

// A block for each row, whose threads write four integers at a time.
__global__ void quantize_rows_kernel(QuantizeRows task) {
  HEED_SHARED(shared);
  const int64_t row = blockIdx.x;
  float scale = task.input_scale, inverse = 1.0F / task.input_scale;
  if (task.input_scale <= 0.0F) {
    float largest = 0.0F;
    for (int64_t c = threadIdx.x; c < task.columns; c += kQuantizeThreads) {
      largest = fmaxf(largest, fabsf(task.x.get(row, c)));
    }
    largest = largest_of_block(largest, reinterpret_cast<float*>(shared));
    inverse = largest > kLeastMagnitude ? 127.0F / largest : 0.0F;
    scale = largest / 127.0F;
  }
  auto* const words = reinterpret_cast<uint32_t*>(task.values + row * task.padded);
  for (int64_t word = threadIdx.x; word < task.padded / 4; word += kQuantizeThreads) {
    const int64_t first = task.order == IntegerOrder::rows ? 4 * word : column_in_block_order(4 * word);
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) {
      const float x = first + i < task.columns ? task.x.get(row, first + i) * inverse : 0.0F;
      const int value = __float2int_rn(fminf(127.0F, fmaxf(-127.0F, x)));
      bits |= (static_cast<uint32_t>(value) & 0xffU) << (8 * i);
    }
    words[word] = bits;
  }
  if (threadIdx.x == 0) {
    task.scales[row] = scale;
  }
}

}  // namespace

IntegerRows quantize_rows(Context& context, const Elements& x, int64_t rows, int64_t columns, float input_scale,
                          IntegerOrder order) {
  const int64_t padded = round_up(columns, kInt4Block);
  IntegerRows result{Tensor({rows, padded}, DType::i8, context.arena), Tensor({rows}, DType::f32, context.arena)};
  launch(
      context.queue, Grid{dim3(static_cast<unsigned>(rows)), dim3(kQuantizeThreads), kQuantizeThreads / kWarp * 4},
      quantize_rows_kernel,
      QuantizeRows{x, columns, padded, input_scale, order, static_cast<int8_t*>(device_address(result.values.view())),
                   static_cast<float*>(device_address(result.scales.view()))});
  return result;
}

}  // namespace heed::cuda
