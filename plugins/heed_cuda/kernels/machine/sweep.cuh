// Kernels that do the same with each pack of a matrix.
#pragma once

#include "base/errors.h"
#include "base/rounding.h"
#include "heed_cuda/context.h"
#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/machine/pack.cuh"
#include "kernels/dropout.h"

namespace heed::cuda {

struct SweptMatrix {
  int64_t columns;
  uint32_t packs_of_row, packs;
};

template <int kWidth, class Body>
__global__ void sweep_kernel(SweptMatrix of, Body body) {
  for (int64_t i = thread_of_grid(); i < of.packs; i += threads_of_grid()) {
    const uint32_t row = static_cast<uint32_t>(i) / of.packs_of_row;
    const int64_t column = static_cast<int64_t>(static_cast<uint32_t>(i) - row * of.packs_of_row) * kWidth;
    body(static_cast<int64_t>(row), column, of.columns - column);
  }
}

// Calls body(row, column, left) for the pack at each kWidth-th column, where `left` columns are left.
template <int kWidth, class Body>
void sweep(Context& context, int64_t rows, int64_t columns, const Body& body) {
  const int64_t packs_of_row = ceil_div(columns, kWidth), packs = rows * packs_of_row;
  ensure(packs < int64_t{1} << 32, "cuda", "a matrix of {} x {} elements", rows, columns);
  if (packs > 0) {
    launch(context.queue, grid_over(packs), sweep_kernel<kWidth, Body>,
           SweptMatrix{columns, static_cast<uint32_t>(packs_of_row), static_cast<uint32_t>(packs)}, body);
  }
}

// Makes one row of matrices of one shape whose rows follow each other; a missing one stays missing.
template <class... Ts>
void flatten(Matrix<Ts>&... x) {
  if (((x.data == nullptr || x.stride == x.columns || x.rows <= 1) && ...)) {
    ((x = {x.data, x.data == nullptr ? 0 : 1, x.rows * x.columns, x.rows * x.columns}), ...);
  }
}

// Multiplies the pack at an even column by the dropout's factors.
template <int kWidth>
__device__ inline void drop_pack(const Dropout& dropout, const RowRandom& row, int64_t column, float (&x)[kWidth]) {
  const uint32_t first_pair = (dropout.first_column + static_cast<uint32_t>(column)) / 2;
  const float scale = dropout.scale();
  HEED_UNROLL
  for (int pair = 0; pair < kWidth / 2; ++pair) {
    const uint32_t draws = row.hash(first_pair + static_cast<uint32_t>(pair));
    x[2 * pair] = (draws & 0xffffU) < dropout.threshold ? 0.0F : x[2 * pair] * scale;
    x[2 * pair + 1] = (draws >> 16) < dropout.threshold ? 0.0F : x[2 * pair + 1] * scale;
  }
}
template <int kWidth>
__device__ inline void drop_pack(const Dropout& dropout, int64_t row, int64_t column, float (&x)[kWidth]) {
  if (dropout.active()) {
    drop_pack(dropout, dropout.row(row), column, x);
  }
}

}  // namespace heed::cuda
