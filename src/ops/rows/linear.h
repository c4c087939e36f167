// y = dropout(act(x W^T + b)).
#pragma once

#include "kernels/calls/activation.h"
#include "ops/pass.h"
#include "ops/var.h"
#include "ops/weight.h"

namespace heed {

struct LinearWeights {
  const Weight* weight = nullptr;  // [out, in]
  const Weight* bias = nullptr;    // [out], or none
};

struct LinearOptions {
  Activation activation = Activation::none;
  DropoutSite dropout;
  bool in_master_type = false;  // for y, which then has no gradient
};

Var linear(Pass& pass, const Var& x, LinearWeights weights, const LinearOptions& options = {});

// Checks that the shapes fit x W^T + b; `op` names the op in errors.
void require_fits(const Var& x, const LinearWeights& weights, std::string_view op);

struct LinearOp {
  Var x, y, before;
  LinearWeights weights;
  Activation activation;
  Dropout dropout;

  void backward(Backend& backend);
};

// Whether one of them is trained.
bool is_trained(const LinearWeights& weights);

// Contributes scale * d_y^T x to the weight's gradient and the scaled column sums of d_y to the bias's,
// as far as they are trained.
void linear_weight_gradient(Backend& backend, LinearWeights weights, ConstView d_y, ConstView x, double scale = 1.0);

}  // namespace heed
