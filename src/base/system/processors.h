// Processors, where processes share a machine.
#pragma once

namespace heed {

// How many processors the quota of this process's control groups is worth, rounded up; the largest number without one.
int processor_quota();

// available_processors() (base/system/threads.h) is at most this. At least 1.
void limit_processors(int most);

}  // namespace heed
