#include "nn/norm.h"

namespace heed {

Norm::Norm(const Scope& scope, WeightRole role, const NormShape& shape, const Division& division)
    : weights_{shape.kind,
               &scope.add("gain", role, {shape.width}, WeightUse::vector,
                          shape.gain == NormGain::plain && shape.start == GainStart::one ? Initialization::ones()
                                                                                         : Initialization::zeros(),
                          division),
               nullptr, shape.epsilon, shape.gain} {
  if (shape.kind == NormKind::layer && shape.bias == Bias::present) {
    weights_.bias = &scope.add("bias", {role, WeightTerm::bias}, {shape.width}, WeightUse::vector,
                               Initialization::zeros(), division);
  }
}

Stream Skip::operator()(Pass& pass, const Var& x, const Var& earlier, const Norm* next) const {
  const Var added = norm_(pass, earlier);
  if (next != nullptr) {
    return add_norm(pass, x, added, next->weights(), {});
  }
  const Var sum = add(pass, x, added, {});
  return {sum, sum};
}

Residual::Residual(const Scope& sublayer, const Options& options) : Residual(sublayer, options.dropout) {
  const NormPlacement placement = options.placement;
  if (placement == NormPlacement::pre || placement == NormPlacement::sandwich) {
    input_norm_.emplace(sublayer / "norm", WeightRole::sublayer_norm, options.norm);
  }
  if (placement == NormPlacement::sandwich || placement == NormPlacement::branch) {
    branch_norm_.emplace(sublayer / "branch_norm", WeightRole::branch_norm, options.norm);
  }
  if (placement == NormPlacement::post) {
    output_norm_.emplace(sublayer / "norm", WeightRole::sublayer_norm, options.norm);
  }
}

Stream Residual::operator()(Pass& pass, const Var& x, const Var& branch, const Norm* next) const {
  const Var added = branch_norm_ ? (*branch_norm_)(pass, branch) : branch;
  if (output_norm_) {
    const Var normed = add_norm(pass, x, added, output_norm_->weights(), dropout_).normed;
    return {normed, normed};
  }
  if (next != nullptr) {
    return add_norm(pass, x, added, next->weights(), dropout_);
  }
  const Var sum = add(pass, x, added, dropout_);
  return {sum, sum};
}

}  // namespace heed
