// Memory in whole pages, straight from the system.
#pragma once

#include <cstddef>

namespace heed {

size_t page_bytes();

// Zeros, which take no memory before they are touched, in large pages where the system grants them: at `wanted`, where
// that is given and free, else where the system likes. Null where it refuses.
std::byte* map_pages(size_t bytes, std::byte* wanted = nullptr);
void unmap_pages(std::byte* address, size_t bytes);

// Where the system would put a page by itself; null where it refuses.
std::byte* next_free_page();

// Makes whole pages zeros that take no memory.
void empty_pages(std::byte* address, size_t bytes);

// From now on there are only small pages, so that some can be emptied without their neighbours.
void refuse_large_pages(std::byte* address, size_t bytes);

}  // namespace heed
