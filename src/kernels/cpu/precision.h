// The type of a trained model's matrix products.
#pragma once

#include "heed/precision.h"
#include "tensor/dtype.h"

namespace heed {

// For automatic, the type that this machine multiplies fastest.
DType inference_type(Precision precision);

}  // namespace heed
