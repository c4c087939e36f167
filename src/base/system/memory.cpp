#include "base/system/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/rounding.h"
#include "base/system/control_groups.h"

namespace heed {

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

void return_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

int64_t usable_memory() {
  const int64_t machine = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  return std::min(machine, memory_limit_of_groups(own_control_groups(), kControlGroups));
}

}  // namespace heed
