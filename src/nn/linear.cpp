#include "nn/linear.h"

namespace heed {
namespace {

Division division_of(const Linear::Options& options) {
  switch (options.divided) {
    case Divided::outputs:
      return Division::rows(options.stacked);
    case Divided::inputs:
      return Division::columns();
    case Divided::none:
      break;
  }
  return Division::none();
}

}  // namespace

Linear::Linear(const Scope& scope, const Options& options)
    : summed_over_(options.divided == Divided::inputs && !scope.parts().is_whole() ? &scope.parts() : nullptr),
      op_(options.op) {
  const Division division = division_of(options);
  weights_.weight =
      &scope.add("weight", {options.outputs, options.inputs}, WeightUse::product, options.initialization, division);
  if (options.bias == Bias::present) {
    weights_.bias =
        &scope.add("bias", {options.outputs}, WeightUse::vector, options.initialization.of_bias(options.inputs),
                   options.divided == Divided::outputs ? division : Division::none());
  }
}

// The bias is added once, to the sum.
Var Linear::operator()(Pass& pass, const Var& x) const {
  if (summed_over_ == nullptr) {
    return linear(pass, x, weights_, op_);
  }
  return sum_of_parts(pass, linear(pass, x, {weights_.weight, nullptr}, op_), weights_.bias, *summed_over_);
}

}  // namespace heed
