#include "heed_cuda/kernels/rows/row_order.h"

#include "heed_cuda/device/launch.h"

namespace heed::cuda {
namespace {

constexpr int kRowsOfWarp = 4;

// A warp finds the places of kRowsOfWarp neighbouring rows in one order.
__global__ void order_rows_kernel(RowKeys orders, int64_t first_row, int count, int32_t* ordered) {
  const int32_t* const keys = orders.keys[blockIdx.y];
  int32_t* const ordered_keys = ordered + static_cast<int64_t>(blockIdx.y) * 2 * count;
  int32_t* const ordered_rows = ordered_keys + count;
  const int first = static_cast<int>(thread_of_grid() / kWarp) * kRowsOfWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (first >= count) {
    return;
  }
  int own[kRowsOfWarp], before[kRowsOfWarp] = {};
  HEED_UNROLL
  for (int k = 0; k < kRowsOfWarp; ++k) {
    own[k] = keys[first_row + min(first + k, count - 1)];
  }
  for (int other = lane; other < count; other += kWarp) {
    const int key = keys[first_row + other];
    HEED_UNROLL
    for (int k = 0; k < kRowsOfWarp; ++k) {
      before[k] += key < own[k] || (key == own[k] && other < first + k) ? 1 : 0;
    }
  }
  HEED_UNROLL
  for (int k = 0; k < kRowsOfWarp; ++k) {
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      before[k] += __shfl_xor_sync(kWholeWarp, before[k], distance);
    }
    if (lane == 0 && first + k < count) {
      ordered_keys[before[k]] = own[k];
      ordered_rows[before[k]] = static_cast<int32_t>(first_row) + first + k;
    }
  }
}

}  // namespace

RowOrders::RowOrders(Context& context, const RowKeys& keys, int64_t first, int64_t count)
    : memory_({2 * keys.count, count}, DType::i32, context.arena), count_(count) {
  Grid grid = grid_of_blocks(ceil_div(count, kRowsOfWarp * kThreads / kWarp));
  grid.blocks.y = static_cast<unsigned>(keys.count);
  launch(context.queue, grid, order_rows_kernel, keys, first, static_cast<int>(count),
         static_cast<int32_t*>(device_address(memory_.view())));
}

OrderedRows RowOrders::of(int order) const {
  const auto* const ordered = static_cast<const int32_t*>(device_address(memory_.view())) + 2 * order * count_;
  return {ordered, ordered + count_, count_};
}

}  // namespace heed::cuda
