#include "kernels/devices/plugin.h"

#include "heed_cuda/cuda_backend.h"

extern "C" __attribute__((visibility("default"))) heed::Backend* heed_cuda_backend(int layout, int device) {
  return layout == heed::kHeedCudaLayout ? heed::cuda::make_backend(device).release() : nullptr;
}
