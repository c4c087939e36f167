#include "kernels/devices/plugin.h"

#include <cstring>

#include "heed_cuda/cuda_backend.h"

extern "C" __attribute__((visibility("default"))) heed::Backend* heed_cuda_backend(const char* interface, int device) {
  const bool is_own = std::strcmp(interface, heed::kHeedInterface) == 0;
  return is_own ? heed::cuda::make_backend(device).release() : nullptr;
}
