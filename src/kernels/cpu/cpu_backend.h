// The CPU backend: f32 and bf16 storage, f32 masters.
#pragma once

#include <memory>

#include "kernels/cpu/product/product.h"
#include "kernels/kernels.h"

namespace heed {

// With one thread per processor this process may use.
std::unique_ptr<Backend> make_cpu_backend();
std::unique_ptr<Backend> make_cpu_backend(int threads);
// With a given way of multiplying bf16, for tests and benchmarks.
std::unique_ptr<Backend> make_cpu_backend(int threads, cpu::Bf16Products products);

}  // namespace heed
