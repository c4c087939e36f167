// A backend that computes nothing: what a model costs is counted while the real model runs on it.
#pragma once

#include "kernels/profiled_backend.h"

namespace heed {

// Adds the operations and the bytes of each call to `profile`, which must outlive it, and returns at once. In f32 and
// bf16, with f32 masters.
//
// There is no memory behind results. The arena counts what is in use and its peak (Backing::none), and what the backend
// keeps has an address of its own that nothing may read or write. A host that reads a result from the arena gets
// whatever indices it wrote there itself; memory of its own, into which a result was copied, keeps its zeros. So
// training steps run, with losses that mean nothing, and decoding steps, with all tokens equally likely.
std::unique_ptr<Backend> make_counting_backend(Profile& profile);

}  // namespace heed
