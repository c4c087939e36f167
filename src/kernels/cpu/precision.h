// The type that a trained model's products are computed in.
#pragma once

#include "heed/precision.h"
#include "tensor/dtype.h"

namespace heed {

// Automatic is what this machine multiplies fastest.
DType inference_type(Precision precision);

}  // namespace heed
