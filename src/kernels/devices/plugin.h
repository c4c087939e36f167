// What the program asks the library for NVIDIA GPUs for, once it has loaded it: both are of one build.
#pragma once

#include "kernels/kernels.h"

namespace heed {

inline constexpr const char* kHeedCudaName = "heed_cuda_backend";
// A checksum of the headers that both are compiled with: another build's library would be called wrongly.
inline constexpr const char* kHeedInterface = HEED_INTERFACE;

// Null where `interface` is another. Throws ConfigError where the device cannot be used, and DeviceError.
using HeedCudaFunction = Backend* (*)(const char* interface, int device);

}  // namespace heed
