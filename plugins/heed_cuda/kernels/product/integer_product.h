// Products of rows with weights of integers.
#pragma once

#include "heed_cuda/kernels/product/packed_weights.h"
#include "heed_cuda/kernels/product/product_finish.cuh"

namespace heed::cuda {

// x: f32 or bf16, in the device's memory.
void multiply_integers(Context& context, const Elements& x, int64_t rows, const PackedInt8& weight,
                       const FinishForward& finish);
void multiply_integers(Context& context, const Elements& x, int64_t rows, const PackedInt4& weight,
                       const FinishForward& finish);

}  // namespace heed::cuda
