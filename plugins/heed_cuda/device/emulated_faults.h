// Failures of the emulated device, for tests.
#pragma once

#include <cstdint>

namespace heed::cuda::emulation {

// The device fails once, after that many more of its calls; below 0, never.
void fail_after(int64_t calls);

}  // namespace heed::cuda::emulation
