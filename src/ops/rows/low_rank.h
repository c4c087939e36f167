// A trained addition of low rank to a matrix that may be frozen: x (W + scale B A)^T.
#pragma once

#include "ops/pass.h"
#include "ops/var.h"
#include "ops/weight.h"

namespace heed {

struct LowRank {
  const Weight* a = nullptr;  // [rank, in]
  const Weight* b = nullptr;  // [out, rank]
  double scale = 1.0;
  DropoutSite dropout;  // of x
};

// scale B A dropout(x) + bias, in the master type, a row for each row of x. The op that makes y adds it to x W^T. Call
// this before that op is recorded: backward then runs that op's first, which turns y's gradient into that of the sum.
Tensor low_rank(Pass& pass, const Var& x, const Var& y, const LowRank& weights, ConstView bias);

struct LowRankOp {
  Var x, y, u;
  const LowRank* weights;
  Dropout dropout;

  void backward(Backend& backend);
};

}  // namespace heed
