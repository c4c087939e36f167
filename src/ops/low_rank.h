// A trained addition of low rank to a matrix that may be frozen: x (W + scale B A)^T.
#pragma once

#include "ops/pass.h"
#include "ops/weight.h"

namespace heed {

struct LowRank {
  const Weight* a = nullptr;  // [rank, in]
  const Weight* b = nullptr;  // [out, rank]
  double scale = 1.0;
  DropoutSite dropout;  // of x
};

// scale B A dropout(x) + bias, in the master type: what the op that makes y adds to x W^T, a row to each row. To be called
// before that op is recorded, so that its backward has turned y's gradient into that of the sum when this one runs.
Tensor low_rank(Pass& pass, const Var& x, const Var& y, const LowRank& weights, ConstView bias);

struct LowRankOp {
  Var x, y, u;
  const LowRank* weights;
  Dropout dropout;

  void backward(Backend& backend);
};

}  // namespace heed
