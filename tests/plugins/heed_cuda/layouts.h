// Runs a test's body on operands whose rows begin anywhere, and on those that kernels can move 16 bytes at a time.
#pragma once

#include "kernels/backend_testing.h"

namespace heed::test {

template <class Body>
void with_each_layout(Body&& body) {
  {
    SCOPED_TRACE("rows begin anywhere");
    body();
  }
  SCOPED_TRACE("rows begin at multiples of 16 bytes");
  const AlignedOperands aligned;
  body();
}

// Around the elements that a thread takes, and those of a warp.
inline constexpr int64_t kPackColumns[] = {1, 3, 4, 7, 8, 9, 33, 257};

// `run` gives one result per row of a case. The rows of a part of the case must be the same bits as those rows of all.
template <class Case, class Run>
void expect_same_rows_on_cuda(const Case& whole, int64_t rows, Run&& run) {
  const Guarded all = run(whole);
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {rows / 2, 1}, {3, 5}, {1, rows - 2}}) {
    EXPECT_TRUE(same_bits(run(whole.rows(first, count)), all.rows(first, count)))
        << count << " rows from row " << first << " of " << rows;
  }
}

}  // namespace heed::test
