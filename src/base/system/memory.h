// Memory of the process and of the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace heed {

// The peak of its resident memory so far.
int64_t peak_memory_bytes();

// How much of this memory is resident, in whole pages.
int64_t resident_bytes(const void* address, int64_t bytes);

// What the machine has, or less where this process is in a control group with a limit, as in a container or a job of a
// batch system.
int64_t usable_memory();

// `groups` lists control groups of either version, in the format of /proc/self/cgroup. Returns the smallest limit of
// these groups and of those that contain them, or the largest number if there is no limit. `root` is where groups are
// mounted.
int64_t memory_limit_of_groups(std::string_view groups, const std::filesystem::path& root);

}  // namespace heed
