#include "nn/linear.h"

namespace heed {

Linear::Linear(const Scope& scope, const Options& options) : op_(options.op) {
  weights_.weight = &scope.add("weight", {options.outputs, options.inputs}, WeightUse::product, options.initialization);
  if (options.bias == Bias::present) {
    weights_.bias =
        &scope.add("bias", {options.outputs}, WeightUse::vector, options.initialization.of_bias(options.inputs));
  }
}

}  // namespace heed
