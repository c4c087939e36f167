// Memory of the process and of the machine.
#pragma once

#include <cstdint>

namespace heed {

// The peak of its resident memory so far.
int64_t peak_memory_bytes();

// What the machine has.
int64_t memory_of_machine();

}  // namespace heed
