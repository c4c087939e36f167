// sum = residual + dropout(branch); normed = norm(sum) * gain + bias.
#pragma once

#include <vector>

#include "kernels/calls/norm.h"
#include "ops/pass.h"
#include "ops/var.h"
#include "ops/weight.h"

namespace heed {

struct NormWeights {
  NormKind kind = NormKind::layer;
  const Weight* gain = nullptr;
  const Weight* bias = nullptr;  // or none
  double epsilon = 1e-5;
  NormGain gain_form = NormGain::plain;
};

bool is_trained(const NormWeights& weights);

// The residual and its normalized copy. Pre-norm sublayers read `normed` and add to `residual`; in post-norm both are
// the same.
struct Stream {
  Var residual, normed;
  std::vector<Var> earlier = {};  // outputs of layers that later ones will add, the last of them first
};

Stream add_norm(Pass& pass, const Var& residual, const Var& branch, const NormWeights& weights,
                const DropoutSite& dropout);
Var norm(Pass& pass, const Var& x, const NormWeights& weights);
// Only the sum.
Var add(Pass& pass, const Var& residual, const Var& branch, const DropoutSite& dropout);

// `branch` is empty for a norm alone, `normed` for a sum alone.
struct AddNormOp {
  Var residual, branch, sum, normed;
  Tensor statistics;
  NormWeights weights;
  Dropout dropout;

  void backward(Backend& backend);
};

}  // namespace heed
