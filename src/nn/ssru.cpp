#include "nn/ssru.h"

namespace heed {

Ssru::Ssru(const Scope& scope, const AttentionShape& shape)
    : projection_(scope / "projection",
                  {.inputs = shape.model,
                   .outputs = 2 * shape.model,
                   .bias = Bias::none,
                   .initialization = shape.initialization.inner(2),
                   .op = {},
                   .divided = Divided::none,
                   .roles = {{WeightRole::forget_gate, shape.model}, {WeightRole::candidate, shape.model}}}) {
  if (shape.bias == Bias::present) {
    gate_bias_ = &scope.add("gate_bias", {WeightRole::forget_gate, WeightTerm::bias}, {shape.model}, WeightUse::vector,
                            shape.initialization.inner().of_bias(shape.model));
  }
}

Var Ssru::operator()(Pass& pass, const Var& x, const Sequences& sequences, const SelfAttentionCall& call) const {
  require(call.mask.get() == nullptr, "ssru", "a mask hides pairs of tokens, but a recurrence forms no pairs");
  const Var projected = projection_(pass, x);
  return call.cache == nullptr ? ssru(pass, projected, sequences.segments(), gate_bias_)
                               : ssru(pass, projected, sequences.segments(), gate_bias_, *call.cache);
}

}  // namespace heed
