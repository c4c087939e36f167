// The backend of NVIDIA GPUs: f32 and bf16 storage, f32 masters.
#pragma once

#include <memory>

#include "kernels/kernels.h"

namespace heed::cuda {

// ConfigError where there is no such device; see Queue::open.
std::unique_ptr<Backend> make_backend(int device);

}  // namespace heed::cuda
