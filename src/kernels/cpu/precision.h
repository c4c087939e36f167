// The type of a trained model's matrix products.
#pragma once

#include "heed/types/inference.h"
#include "tensor/dtype.h"

namespace heed {

// For automatic, the type that this machine multiplies fastest.
DType inference_type(Precision precision);

// The type of keys and values that are kept, in a run that stores its results in `storage`.
DType cache_type(CacheType type, DType storage);

}  // namespace heed
