// The process's memory.
#pragma once

#include <cstdint>

namespace heed {

// The peak of its resident memory so far.
int64_t peak_memory_bytes();

}  // namespace heed
