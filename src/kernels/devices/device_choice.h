// The backend that a user asks for by name.
#pragma once

#include <memory>
#include <string_view>

#include "heed/types/inference.h"
#include "kernels/kernels.h"

namespace heed {

// "cpu", with that many threads (0: one per processor), or "cuda" or "cuda:N", an NVIDIA GPU. ConfigError for another
// name, and where the device is not there.
std::unique_ptr<Backend> make_backend(std::string_view device, int threads);

// For automatic, the type that the backend's device multiplies fastest.
DType inference_type(Precision precision, const Backend& backend);

}  // namespace heed
