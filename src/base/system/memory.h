// Memory of the process and of the machine.
#pragma once

#include <cstdint>

namespace heed {

// The peak of its resident memory so far.
int64_t peak_memory_bytes();

// How much of this memory is resident, in whole pages.
int64_t resident_bytes(const void* address, int64_t bytes);

// Gives memory back to the system that has been freed. It is worth the time after much work on the heap, such as loading
// a model.
void return_freed_memory();

// What the machine has, or less where this process is in a control group with a limit, as in a container or a job of a
// batch system.
int64_t usable_memory();

}  // namespace heed
