// Helpers of the benchmarks.
#pragma once

#include <vector>

#include "heed/precision.h"
#include "tensor/dtype.h"

namespace heed {

// The type for a precision in training.
DType training_type(Precision precision);

double median(std::vector<double> values);

}  // namespace heed
