// The calls that look up, select or pool rows.
#pragma once

#include "heed/types/reading/labels.h"
#include "kernels/calls/weight.h"
#include "kernels/calls/write.h"
#include "kernels/dropout.h"
#include "tensor/segments.h"

namespace heed {

// y[r] = dropout(scale * table[tokens[r]] + positions[position_rows[r]] + types[type_rows[r]]). A negative token's row
// is in another part of the table: y[r] is zero.
struct EmbeddingForward {
  ConstView tokens;  // i32 [1, rows]
  WeightView table;  // [vocabulary, model]
  double scale = 1.0;
  ConstView position_rows;  // i32 [1, rows]
  WeightView positions;     // [max_length, model], in the storage or the master type
  ConstView type_rows;
  WeightView types;
  Dropout dropout;
  View y;
};

// Adds scale * d_y to the rows of d_table, d_y to those of d_positions and d_types, in the order of the batch's rows.
// A negative token adds nothing to d_table.
struct EmbeddingBackward {
  ConstView tokens;
  double scale = 1.0;
  ConstView position_rows, type_rows;
  Dropout dropout;
  ConstView d_y;
  View d_table, d_positions, d_types;
};

// y[r] = x[rows[r]]; a row may be selected several times, or not at all.
struct SelectRows {
  ConstView x;
  ConstView rows;  // i32 [1, rows of y]
  View y;
};

// d_x[i] (+)= the sum of d_y[r] over all r with rows[r] = i, in the order of r; rows that were not selected get zeros.
struct SelectRowsBackward {
  ConstView d_y, rows;
  View d_x;
  Write write = Write::overwrite;
};

// y[s] = the mean or, column by column, the maximum of the n rows [begin(s), end(s)) of x, or their sum divided by
// sqrt(n); zeros where there are none. `chosen` holds the row of each maximum, the first in a tie. (Pooling::first and
// last are selections of rows.)
struct PoolForward {
  const Segments* segments = nullptr;
  Pooling kind = Pooling::mean;
  ConstView x;
  View y;
  View chosen;  // of max: i32 [segments, columns]
};

// For each row r of sequence s:
//   mean: d_x[r] (+)= d_y[s] / length(s)      max: d_x[r, c] (+)= d_y[s, c] if chosen[s, c] = r, else 0
//   mean_sqrt_length: d_x[r] (+)= d_y[s] / sqrt(length(s))
struct PoolBackward {
  const Segments* segments = nullptr;
  Pooling kind = Pooling::mean;
  ConstView chosen, d_y;
  View d_x;
  Write write = Write::overwrite;
};

}  // namespace heed
