#include "heed_cuda/kernels/product/bias_gradient.h"

#include "base/rounding.h"
#include "heed_cuda/device/launch.h"
#include "tensor/tensor.h"

namespace heed::cuda {
namespace {

constexpr int kSumWarps = 8;
constexpr int64_t kSumRows = 256;  // that a block sums
constexpr int64_t kSumColumns = 2 * kWarp;

__device__ float column_sum_of_warps(const float* sums, int lane) {
  float sum = 0.0F;
  for (int warp = 0; warp < kSumWarps; ++warp) {
    sum += sums[warp * kSumColumns + lane];
  }
  return sum;
}

// A block sums kSumRows rows of 64 columns, each of its warps every eighth; finish(block of rows, ...).
__global__ void column_sums_kernel(Elements x, int64_t rows, int64_t columns, FinishGradient finish) {
  HEED_SHARED(shared);
  auto* const sums = reinterpret_cast<float*>(shared);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kSumColumns + 2 * lane;
  const int64_t first = static_cast<int64_t>(blockIdx.y) * kSumRows, end = min(rows, first + kSumRows);
  float left = 0.0F, right = 0.0F;
  for (int64_t r = first + warp; r < end; r += kSumWarps) {
    float pair[2] = {0.0F, 0.0F};
    x.get_pair(r, c, columns, pair);
    left += pair[0];
    right += pair[1];
  }
  sums[warp * kSumColumns + 2 * lane] = left;
  sums[warp * kSumColumns + 2 * lane + 1] = right;
  __syncthreads();
  if (warp == 0 && c < columns) {
    finish(blockIdx.y, c, column_sum_of_warps(sums, 2 * lane), column_sum_of_warps(sums, 2 * lane + 1));
  }
}

}  // namespace

void sum_columns(Context& context, const Elements& x, int64_t rows, int64_t columns, const FinishGradient& finish) {
  const int64_t blocks = std::max<int64_t>(1, ceil_div(rows, kSumRows));
  const Grid grid{dim3(static_cast<unsigned>(ceil_div(columns, kSumColumns)), static_cast<unsigned>(blocks)),
                  dim3(kSumWarps * kWarp), kSumWarps * kSumColumns * 4};
  if (blocks == 1) {
    launch(context.queue, grid, column_sums_kernel, x, rows, columns, finish);
    return;
  }
  const int64_t stride = round_up(columns, int64_t{2});
  const Tensor parts({blocks, stride}, DType::f32, context.arena);
  const Elements of_blocks{device_address(parts.view()), stride, DType::f32, true};
  launch(context.queue, grid, column_sums_kernel, x, rows, columns, FinishGradient{of_blocks, false, 1.0F, columns});
  sum_columns(context, of_blocks, blocks, columns, finish);
}

}  // namespace heed::cuda
