#include "heed_cuda/kernels/rows/column_sums.h"

#include "heed_cuda/device/launch.h"

namespace heed::cuda {
namespace {

constexpr int kSlices = 32, kSumThreads = kSlices * kWarp;

// A block takes kWarp columns; each of its warps every kSlices-th partial sum of these.
__global__ void __launch_bounds__(kSumThreads)
    add_column_sums_kernel(ColumnSums first, ColumnSums second, int64_t blocks, int64_t columns) {
  HEED_SHARED(shared);
  float* const memory = reinterpret_cast<float*>(shared);
  const ColumnSums of = blockIdx.y == 0 ? first : second;
  if (of.partial == nullptr) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x) % kWarp, slice = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kWarp + lane;
  float sum = 0.0F;
  if (column < columns) {
    for (int64_t block = slice; block < blocks; block += kSlices) {
      sum += of.partial[block * columns + column];
    }
  }
  memory[threadIdx.x] = sum;
  __syncthreads();
  if (slice == 0 && column < columns) {
    for (int other = 1; other < kSlices; ++other) {
      sum += memory[other * kWarp + lane];
    }
    of.to[column] += sum;
  }
}

}  // namespace

void add_column_sums(Context& context, const ColumnSums& first, const ColumnSums& second, int64_t blocks,
                     int64_t columns) {
  if (first.partial == nullptr && second.partial == nullptr) {
    return;
  }
  Grid grid = grid_of_blocks(ceil_div(columns, kWarp), kSumThreads, kSumThreads * static_cast<int64_t>(sizeof(float)));
  grid.blocks.y = second.partial == nullptr ? 1 : 2;
  launch(context.queue, grid, add_column_sums_kernel, first, second, blocks, columns);
}

}  // namespace heed::cuda
