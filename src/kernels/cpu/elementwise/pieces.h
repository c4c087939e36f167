// Sweeps over flat memory, piece by piece.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"
#include "kernels/cpu/machine/context.h"
#include "tensor/tensor.h"

namespace heed::cpu {

inline constexpr int64_t kPiece = 16 * 1024;  // elements per task of a flat sweep; also fixes the order of long sums

// Calls body(row, first column, count) over pieces of all rows.
template <class Body>
void each_piece(Context& context, const ConstView& x, Body&& body) {
  const int64_t pieces = ceil_div(x.columns(), kPiece);
  const RowTasks tasks(x.rows() * pieces, std::min(kPiece, x.columns()), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t piece = tasks.begin(task); piece < tasks.end(task); ++piece) {
      const int64_t first = piece % pieces * kPiece;
      body(piece / pieces, first, std::min(kPiece, x.columns() - first));
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
