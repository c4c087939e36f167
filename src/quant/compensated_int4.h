// Rounding to int4 where the columns that follow make up for each column's error.
#pragma once

#include <span>

#include "base/system/threads.h"
#include "nn/weights/integer_matrix.h"

namespace heed {

// The integers, with `group` columns to a scale, that nearly minimize the error of the product,
//   sum over inputs x of ((W - Q) x)^2 = tr (W - Q) H (W - Q)^T,    H = X^T X = `squares`,
// column by column: with H = R R^T, R upper triangular, column k of Q is
//   round(W[:, k] + sum over j < k of (W[:, j] - Q[:, j]) R[j, k] / R[k, k]),
// which is the error compensation of GPTQ (Frantar et al., 2022). A hundredth of its mean is added to H's diagonal. A
// group's scale fits what its columns are to become when the group begins.
IntegerMatrix to_compensated_int4(ThreadPool& pool, std::span<const float> values, const Shape& shape, int64_t group,
                                  const Tensor& squares);

}  // namespace heed
