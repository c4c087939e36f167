// Whether a row's result depends on how many others there are.
#pragma once

#include <utility>
#include <vector>

#include "kernels/backend_testing.h"

namespace heed::test {

// `run` gives one result per row of a case. The rows of a part of the case must be the same bits as those rows of all.
template <class Case, class Run>
void expect_same_rows(const Case& whole, int64_t rows, Run&& run) {
  const Guarded all = run(whole);
  ASSERT_EQ(all.rows(), rows);
  for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 1}, {rows - 1, 1}, {rows / 2, 1}, {7, 1}, {3, 5}, {2, 17}, {rows - 40, 40}, {1, rows - 2}}) {
    EXPECT_TRUE(same_bits(run(whole.rows(first, count)), all.rows(first, count)))
        << count << " rows from row " << first << " of " << rows;
  }
}

}  // namespace heed::test
