// y = dropout(act(x[:, :inner]) * x[:, inner:]).
#pragma once

#include "kernels/calls/activation.h"
#include "ops/pass.h"
#include "ops/var.h"

namespace heed {

Var gate(Pass& pass, const Var& x, Activation activation, const DropoutSite& dropout);

struct GateOp {
  Var x, y;
  Activation activation;
  Dropout dropout;

  void backward(Backend& backend);
};

}  // namespace heed
