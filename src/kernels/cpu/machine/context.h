// What every CPU kernel is given: the workers and, for each, memory of its own that is reused between calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/rounding.h"
#include "base/system/threads.h"

namespace heed::cpu {

// Scratch memory that only grows. One user at a time: reserving again invalidates what was there.
class Scratch {
 public:
  // 64-byte aligned, contents undefined.
  template <class T>
  T* reserve(int64_t count) {
    return reinterpret_cast<T*>(reserve_bytes(count * static_cast<int64_t>(sizeof(T))));
  }

 private:
  std::byte* reserve_bytes(int64_t bytes);

  struct Free {
    void operator()(std::byte* address) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  int64_t bytes_ = 0;
};

struct Context {
  explicit Context(int threads) : pool(threads), worker_scratch(static_cast<size_t>(threads)) {}

  Scratch& scratch(int worker) { return worker_scratch[static_cast<size_t>(worker)]; }

  ThreadPool pool;
  std::vector<Scratch> worker_scratch;
  Scratch shared_scratch;  // for what one phase of a kernel prepares and the next reads
  Scratch bias_scratch;    // partial sums of a bias gradient, besides what the product itself needs
  Scratch logits_scratch;  // a block of logits per worker, besides what the product itself needs
};

// How to split `rows` independent rows into tasks: enough tasks that the others can make up for a slow worker, each
// long enough to be worth claiming. Results never depend on it.
struct RowTasks {
  RowTasks(int64_t rows, int64_t work_per_row, int threads);

  int64_t count() const { return ceil_div(rows, rows_per_task); }
  int64_t begin(int64_t task) const { return task * rows_per_task; }
  int64_t end(int64_t task) const { return std::min(rows, begin(task) + rows_per_task); }

  int64_t rows, rows_per_task;
};

}  // namespace heed::cpu
