// Sums over the rows of a matrix.
#pragma once

#include "heed_cuda/context.h"
#include "heed_cuda/kernels/product/product_finish.cuh"

namespace heed::cuda {

// finish(0, c, sum over r of x[r, c], the same of c + 1), in an order that depends on the number of rows alone. x: f32
// or bf16, in the device's memory.
void sum_columns(Context& context, const Elements& x, int64_t rows, int64_t columns, const FinishGradient& finish);

}  // namespace heed::cuda
