// The second half of sums over many rows, whose first half left a sum of each block of rows.
#pragma once

#include "heed_cuda/context.h"

namespace heed::cuda {

struct ColumnSums {
  const float* partial = nullptr;  // [blocks, columns]; null: nothing to do
  float* to = nullptr;             // [columns]
};

// to += the sums over the blocks, in an order that depends on their number alone.
void add_column_sums(Context& context, const ColumnSums& first, const ColumnSums& second, int64_t blocks,
                     int64_t columns);

}  // namespace heed::cuda
