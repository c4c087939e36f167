// Rows of matrices of any elements.
#pragma once

#include <span>

#include "heed_cuda/context.h"
#include "tensor/tensor.h"

namespace heed::cuda {

// Row rows[i] of `from` becomes row i of `to`. Rows are a multiple of 4 bytes long and one after another.
void copy_selected_rows(Context& context, const Tensor& from, std::span<const int32_t> rows, const Tensor& to);

}  // namespace heed::cuda
