// Processing lines on all threads, a chunk at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/threads.h"

namespace heed {

// Enough to keep threads busy, and little enough for memory.
constexpr size_t kChunkLines = 16'384;
constexpr size_t kChunkBytes = 8 << 20;

// Calls use(line) for each line of a chunk, on all threads of the pool.
template <class Line, class Use>
void for_each_of_chunk(ThreadPool& pool, std::vector<Line>& chunk, Use&& use) {
  constexpr size_t kTaskLines = 64;
  const size_t tasks = (chunk.size() + kTaskLines - 1) / kTaskLines;
  pool.run(static_cast<int64_t>(tasks), [&](int64_t task, int) {
    const size_t begin = static_cast<size_t>(task) * kTaskLines;
    for (size_t i = begin; i < std::min(chunk.size(), begin + kTaskLines); ++i) {
      use(chunk[i]);
    }
  });
}

}  // namespace heed
