// Products of matrices, and the weights that they read.
#pragma once

#include "heed_cuda/context.h"
#include "kernels/calls/linear.h"
#include "kernels/half_panels.h"
#include "kernels/integer_panels.h"

namespace heed::cuda {

std::unique_ptr<PackedWeight> pack(Context& context, const Shape& shape, ProductTypes types, const RowSource& rows);
std::unique_ptr<PackedWeight> pack(Context& context, const Int8Matrix& matrix);
std::unique_ptr<PackedWeight> pack(Context& context, const Int4Matrix& matrix);
// Widened to the inputs' type.
std::unique_ptr<PackedWeight> pack(Context& context, const Int8GroupMatrix& matrix, DType inputs);
std::unique_ptr<PackedWeight> pack(Context& context, const Int8Panels& panels);
std::unique_ptr<PackedWeight> pack(Context& context, const Int4Panels& panels);
std::unique_ptr<PackedWeight> pack(Context& context, const Int8GroupPanels& panels, DType inputs);
std::unique_ptr<PackedWeight> pack(Context& context, const HalfPanels& panels, DType inputs);
std::unique_ptr<PackedWeight> select_packed_rows(Context& context, const PackedWeight& matrix,
                                                 std::span<const int32_t> rows);

void linear(Context& context, const LinearForward& call);
void linear_input_gradient(Context& context, const LinearInputGradient& call);
void linear_weight_gradient(Context& context, const LinearWeightGradient& call);

}  // namespace heed::cuda
