// Rows of inputs as integers with scales, for weights of integers.
#pragma once

#include "heed_cuda/context.h"
#include "heed_cuda/kernels/product/product_finish.cuh"
#include "kernels/integer_rows.h"
#include "tensor/tensor.h"

namespace heed::cuda {

// In which order products read the integers of a row. rows: as they are. blocks: of every block of 128 (kInt4Block),
// byte 32 t + 8 j + 4 h + i is column 32 j + 16 h + 4 t + i.
enum class IntegerOrder : uint8_t { rows, blocks };

struct IntegerRows {
  Tensor values;  // i8 [rows, columns and zeros up to a multiple of 128]
  Tensor scales;  // f32 [rows]
};

// calls/linear.h has the formulas. input_scale 0: each row has its own.
IntegerRows quantize_rows(Context& context, const Elements& x, int64_t rows, int64_t columns, float input_scale,
                          IntegerOrder order);

}  // namespace heed::cuda
