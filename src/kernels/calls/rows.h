// The calls that look up, select or pool rows.
#pragma once

#include "heed/labels.h"
#include "kernels/calls/weight.h"
#include "kernels/calls/write.h"
#include "kernels/dropout.h"
#include "tensor/segments.h"

namespace heed {

// y[r] = dropout(scale * table[tokens[r]] + positions[position_rows[r]] + types[type_rows[r]]). A negative token's row is
// in another part of the table: y[r] is zero.
struct EmbeddingForward {
  View tokens;       // i32 [1, rows]
  WeightView table;  // [vocabulary, model]
  double scale = 1.0;
  View position_rows;    // i32 [1, rows]
  WeightView positions;  // [max_length, model], in the storage or the master type
  View type_rows;
  WeightView types;
  Dropout dropout;
  View y;
};

// Adds scale * d_y to the rows of d_table, d_y to those of d_positions and d_types, in the order of the batch's rows.
// A negative token adds nothing to d_table.
struct EmbeddingBackward {
  View tokens;
  double scale = 1.0;
  View position_rows, type_rows;
  Dropout dropout;
  View d_y, d_table, d_positions, d_types;
};

// y[r] = x[rows[r]]; a row may be selected several times, or not at all.
struct SelectRows {
  View x;
  View rows;  // i32 [1, rows of y]
  View y;
};

// d_x[i] (+)= the sum of d_y[r] over all r with rows[r] = i, in the order of r; rows that were not selected get zeros.
struct SelectRowsBackward {
  View d_y, rows, d_x;
  Write write = Write::overwrite;
};

// y[s] = the mean or, column by column, the maximum of rows [begin(s), end(s)) of x; zeros where there are none.
// `chosen` holds the row of each maximum, the first in a tie. (Pooling::first is a selection of rows.)
struct PoolForward {
  const Segments* segments = nullptr;
  Pooling kind = Pooling::mean;
  View x, y;
  View chosen;  // of max: i32 [segments, columns]
};

// For each row r of sequence s:
//   mean: d_x[r] (+)= d_y[s] / length(s)      max: d_x[r, c] (+)= d_y[s, c] if chosen[s, c] = r, else 0
struct PoolBackward {
  const Segments* segments = nullptr;
  Pooling kind = Pooling::mean;
  View chosen, d_y, d_x;
  Write write = Write::overwrite;
};

}  // namespace heed
