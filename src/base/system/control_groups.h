// Limits of the control groups that a process is in, as in a container or a job of a batch system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace heed {

// The groups of this process, of either version: lines of "number:controllers:path", without controllers in version 2.
std::string own_control_groups();
// Where groups are mounted.
inline constexpr const char* kControlGroups = "/sys/fs/cgroup";

// The smallest limit of memory, in bytes, that these groups and those that contain them set; the largest number if none
// sets one.
int64_t memory_limit_of_groups(std::string_view groups, const std::filesystem::path& root);

// The same of processors: how many their quotas are worth, rounded up.
int processor_limit_of_groups(std::string_view groups, const std::filesystem::path& root);

}  // namespace heed
