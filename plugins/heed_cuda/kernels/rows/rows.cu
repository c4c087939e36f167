#include "heed_cuda/kernels/rows/rows.h"

#include "heed_cuda/kernels/machine/sweep.cuh"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

template <class T>
struct SelectPack {
  Matrix<const T> x;
  const int32_t* rows;
  Matrix<T> y;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>];
    load_pack(x.row(rows[r]) + c, left, aligned, a);
    store_pack(a, y.row(r) + c, left, aligned);
  }
};

template <class T>
struct SelectedGradient {
  Matrix<const T> d_y;
  const int32_t* rows;
  Matrix<T> d_x;
  Write write;
  bool aligned;
};

// A warp for each row of d_x, and for each kWarp packs of columns, looks for the rows that were selected from it.
template <class T>
__global__ void select_rows_backward_kernel(SelectedGradient<T> of) {
  constexpr int kWidth = kPack<T>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  const int64_t column = (static_cast<int64_t>(blockIdx.y) * kWarp + lane) * kWidth;
  const int64_t left = max(int64_t{0}, of.d_x.columns - column);
  if (row >= of.d_x.rows) {
    return;
  }
  float sum[kWidth] = {};
  for (int64_t first = 0; first < of.d_y.rows; first += kWarp) {
    const bool own = first + lane < of.d_y.rows && of.rows[first + lane] == row;
    for (unsigned found = __ballot_sync(kWholeWarp, own ? 1 : 0); found != 0; found &= found - 1) {
      const int place = lowest_bit(found);
      float x[kWidth];
      load_pack(of.d_y.row(first + place) + (left > 0 ? column : 0), left, of.aligned, x);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        sum[j] += x[j];
      }
    }
  }
  if (left <= 0) {
    return;
  }
  if (of.write == Write::add) {
    float former[kWidth];
    load_pack(of.d_x.row(row) + column, left, of.aligned, former);
    HEED_UNROLL
    for (int j = 0; j < kWidth; ++j) {
      sum[j] += former[j];
    }
  }
  store_pack(sum, of.d_x.row(row) + column, left, of.aligned);
}

}  // namespace

void select_rows(Context& context, const SelectRows& call) {
  Operands operands(context);
  for_storage(call.y.type(), [&]<class T>(T) {
    const Matrix<const T> x = operands.in<T>(call.x);
    const Matrix<T> y = operands.out<T>(call.y);
    sweep<kPack<T>>(context, y.rows, y.columns,
                    SelectPack<T>{x, operands.in<int32_t>(call.rows).data, y, all_aligned(x, y)});
  });
  operands.finish();
}

void select_rows_backward(Context& context, const SelectRowsBackward& call) {
  if (call.d_x.elements() == 0) {
    return;
  }
  Operands operands(context);
  for_storage(call.d_x.type(), [&]<class T>(T) {
    const Matrix<const T> d_y = operands.in<T>(call.d_y);
    const Matrix<T> d_x = call.write == Write::add ? operands.in_out<T>(call.d_x) : operands.out<T>(call.d_x);
    Grid grid = grid_of_blocks(ceil_div(d_x.rows, kThreads / kWarp));
    grid.blocks.y = static_cast<unsigned>(ceil_div(d_x.columns, int64_t{kWarp} * kPack<T>));
    launch(context.queue, grid, select_rows_backward_kernel<T>,
           SelectedGradient<T>{d_y, operands.in<int32_t>(call.rows).data, d_x, call.write, all_aligned(d_y, d_x)});
  });
  operands.finish();
}

}  // namespace heed::cuda
