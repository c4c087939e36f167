#include "base/system/pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace heed {

size_t page_bytes() {
  static const auto kBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

std::byte* map_pages(size_t bytes, std::byte* wanted) {
  void* const address = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    return nullptr;
  }
  // They save page faults and misses of translations; a refusal costs nothing.
  madvise(address, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(address);
}

void unmap_pages(std::byte* address, size_t bytes) { munmap(address, bytes); }

std::byte* next_free_page() {
  void* const given = mmap(nullptr, page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (given == MAP_FAILED) {
    return nullptr;
  }
  munmap(given, page_bytes());
  return static_cast<std::byte*>(given);
}

void empty_pages(std::byte* address, size_t bytes) { madvise(address, bytes, MADV_DONTNEED); }

void refuse_large_pages(std::byte* address, size_t bytes) { madvise(address, bytes, MADV_NOHUGEPAGE); }

}  // namespace heed
