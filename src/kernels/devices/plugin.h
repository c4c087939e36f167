// What the program asks the library for NVIDIA GPUs for, once it has loaded it: both are of one build.
#pragma once

#include "kernels/kernels.h"

namespace heed {

inline constexpr const char* kHeedCudaName = "heed_cuda_backend";
inline constexpr int kHeedCudaLayout = 1;  // changes with the backend interface

// Null where `layout` is another. Throws ConfigError where the device cannot be used, and DeviceError.
using HeedCudaFunction = Backend* (*)(int layout, int device);

}  // namespace heed
