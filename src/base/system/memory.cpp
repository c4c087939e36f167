#include "base/system/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "base/rounding.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// "max", or a number; a file that is missing or says anything else sets no limit.
int64_t limit_in(const fs::path& file) {
  std::ifstream in(file);
  int64_t limit = 0;
  return in >> limit && limit > 0 ? limit : kNoLimit;
}

// `mount` is where the groups of this kind are; a container may not see the folders of those that it is in.
int64_t smallest_limit(const fs::path& mount, const fs::path& group, const char* name) {
  int64_t smallest = limit_in(mount / name);
  for (fs::path inner = group.relative_path(); !inner.empty(); inner = inner.parent_path()) {
    smallest = std::min(smallest, limit_in(mount / inner / name));
  }
  return smallest;
}

// Whether a list of names with commas between them has this one.
bool names(std::string_view list, std::string_view name) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == name) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

}  // namespace

int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

int64_t resident_bytes(const void* address, int64_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(address) / page * page;
  const uintptr_t size = reinterpret_cast<uintptr_t>(address) + static_cast<uintptr_t>(bytes) - first;
  std::vector<unsigned char> pages(ceil_div(size, page));
  if (pages.empty() || mincore(reinterpret_cast<void*>(first), size, pages.data()) != 0) {
    return bytes;
  }
  const auto resident = std::ranges::count_if(pages, [](unsigned char flags) { return (flags & 1U) != 0; });
  return std::min(bytes, static_cast<int64_t>(page) * resident);
}

// Lines are "number:controllers:path"; in version 2 the controllers are left out.
int64_t memory_limit_of_groups(std::string_view groups, const fs::path& root) {
  int64_t smallest = kNoLimit;
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      smallest = std::min(smallest, smallest_limit(root, path, "memory.max"));
    } else if (names(controllers, "memory")) {
      smallest = std::min(smallest, smallest_limit(root / "memory", path, "memory.limit_in_bytes"));
    }
  }
  return smallest;
}

int64_t usable_memory() {
  const int64_t machine = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream groups;
  groups << file.rdbuf();
  return std::min(machine, memory_limit_of_groups(groups.str(), "/sys/fs/cgroup"));
}

}  // namespace heed
