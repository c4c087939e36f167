// The backend of NVIDIA GPUs, in a library of its own that is loaded when it is asked for.
#pragma once

#include <memory>

#include "kernels/kernels.h"

namespace heed {

// ConfigError where the library, a driver or the device is missing: the message says which, and what to do. The library
// is libheed_cuda.so beside the program or in lib/heed/, or the file that the environment's HEED_CUDA names.
std::unique_ptr<Backend> make_cuda_backend(int device);

}  // namespace heed
