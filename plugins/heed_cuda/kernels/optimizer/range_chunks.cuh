// Ranges of flat memory in chunks of a fixed size, counted from where each range begins.
#pragma once

#include <span>
#include <vector>

#include "base/rounding.h"
#include "heed_cuda/context.h"
#include "heed_cuda/device/launch.h"
#include "kernels/calls/optimizer.h"

namespace heed::cuda {

constexpr int64_t kChunk = 8192;

struct RangeOnDevice {
  int64_t first, count, first_chunk;
  int32_t decays, padding;  // so that equal ranges are equal bytes
};

struct RangeChunks {
  const RangeOnDevice* ranges = nullptr;
  int64_t count = 0, chunks = 0;

  RangeChunks() = default;
  RangeChunks(Context& context, std::span<const ElementRange> of) : count(std::ssize(of)) {
    std::vector<RangeOnDevice> table;
    for (const ElementRange& range : of) {
      table.push_back({range.first, range.count, chunks, range.decays == Decays::yes ? 1 : 0, 0});
      chunks += ceil_div(range.count, kChunk);
    }
    ranges = context.uploaded(std::span<const RangeOnDevice>(table));
  }

  // The range that a chunk is in: the last one that begins there or before, which is never an empty one.
  __device__ int64_t range_of(int64_t chunk) const {
    int64_t low = 0, high = count - 1;
    while (low < high) {
      const int64_t middle = (low + high + 1) / 2;
      if (ranges[middle].first_chunk <= chunk) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
};

// The elements of a chunk.
struct ChunkOfRange {
  int64_t range, first, count;
};
__device__ inline ChunkOfRange chunk_of_range(const RangeChunks& of, int64_t chunk) {
  const int64_t range = of.range_of(chunk);
  const int64_t before = (chunk - of.ranges[range].first_chunk) * kChunk;
  return {range, of.ranges[range].first + before, min(kChunk, of.ranges[range].count - before)};
}

}  // namespace heed::cuda
