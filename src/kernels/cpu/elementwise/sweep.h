// Sweeps over flat memory, some elements at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"
#include "kernels/cpu/machine/context.h"
#include "tensor/tensor.h"

namespace heed::cpu {

inline constexpr int64_t kSweepElements =
    16 * 1024;  // elements per task of a flat sweep; also fixes the order of long sums

// Calls body(row, first column, count) over neighbouring elements of all rows.
template <class Body>
void sweep(Context& context, const ConstView& x, Body&& body) {
  const int64_t spans = ceil_div(x.columns(), kSweepElements);
  const RowTasks tasks(x.rows() * spans, std::min(kSweepElements, x.columns()), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t span = tasks.begin(task); span < tasks.end(task); ++span) {
      const int64_t first = span % spans * kSweepElements;
      body(span / spans, first, std::min(kSweepElements, x.columns() - first));
    }
  });
}

template <class T, class AnyView>
auto* at(const AnyView& x, int64_t row, int64_t column) {
  return host<T>(x).row(row) + column;
}

// Calls body(first row, end row) over shares of all rows.
template <class Body>
void each_share(Context& context, const ConstView& x, int64_t work_per_element, const Body& body) {
  const RowTasks tasks(x.rows(), work_per_element * x.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) { body(tasks.begin(task), tasks.end(task)); });
}

}  // namespace heed::cpu
