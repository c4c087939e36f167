// y = factor * x.
#pragma once

#include "ops/pass.h"
#include "ops/var.h"

namespace heed {

// x itself where the factor is 1.
Var scaled(Pass& pass, const Var& x, double factor);

struct ScaleOp {
  Var x, y;
  double factor;

  void backward(Backend& backend);
};

}  // namespace heed
