// One row for each sequence.
#pragma once

#include "heed/types/reading/labels.h"
#include "ops/pass.h"
#include "ops/var.h"
#include "tensor/segments.h"

namespace heed {

// y[s] = the first or the last row of sequence s, or what Pooling says of its rows, column by column. Each sequence has at
// least one row. The tape refers to the segments, which must outlive it.
Var pool(Pass& pass, const Var& x, const Segments& segments, Pooling kind);

struct PoolOp {
  Var x, y;
  const Segments* segments;
  Pooling kind;
  Tensor chosen;  // of max: i32 [sequences, columns]

  void backward(Backend& backend);
};

}  // namespace heed
