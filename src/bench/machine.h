// What benchmarks ask of the machine.
#pragma once

#include <vector>

#include "heed/precision.h"
#include "tensor/dtype.h"

namespace heed {

// The type that a precision asks for in training.
DType training_type(Precision precision);

double median(std::vector<double> values);

}  // namespace heed
