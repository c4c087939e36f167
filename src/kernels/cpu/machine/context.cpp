#include "kernels/cpu/machine/context.h"

#include <cstdlib>

#include "base/errors.h"
#include "base/rounding.h"

namespace heed::cpu {
namespace {

constexpr int64_t kSmallestTask = 16 * 1024;  // element visits: a few microseconds
constexpr int64_t kTasksPerThread = 8;

}  // namespace

void Scratch::Free::operator()(std::byte* address) const { std::free(address); }

std::byte* Scratch::reserve_bytes(int64_t bytes) {
  if (bytes > bytes_) {
    const int64_t rounded = round_up(bytes, 4096);
    memory_.reset();
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<size_t>(rounded))));
    require<MemoryError>(memory_ != nullptr, "memory", "the system refused {} bytes of scratch", rounded);
    bytes_ = rounded;
  }
  return memory_.get();
}

RowTasks::RowTasks(int64_t row_count, int64_t work_per_row, int threads) : rows(row_count) {
  const int64_t for_balance = ceil_div(rows, kTasksPerThread * threads);
  const int64_t for_length = kSmallestTask / std::max<int64_t>(1, work_per_row) + 1;
  rows_per_task = std::max<int64_t>({1, for_balance, for_length});
}

}  // namespace heed::cpu
