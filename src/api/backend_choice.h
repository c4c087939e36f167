// The backend that a number of threads asks for.
#pragma once

#include <memory>

#include "kernels/kernels.h"

namespace heed {

// ConfigError for a number of threads that make_backend() refuses because it is negative, before anything is begun.
void check_threads(int threads);

// The processor's, with so many threads; 0: one per processor that this process may use.
std::unique_ptr<Backend> make_backend(int threads);

}  // namespace heed
