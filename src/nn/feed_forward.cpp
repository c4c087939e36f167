#include "nn/feed_forward.h"

namespace heed {
namespace {

// Draws for the inner columns that this rank has.
DropoutSite inner_dropout(const Scope& scope, const FeedForwardShape& shape) {
  return {scope.site("dropout"), shape.dropout, scope.parts().share(shape.inner).first};
}

Linear::Options inner_options(const Scope& scope, const FeedForwardShape& shape) {
  if (shape.gating == Gating::gated) {
    return {.inputs = shape.model,
            .outputs = 2 * shape.inner,
            .bias = shape.bias,
            .initialization = shape.initialization.inner(2),
            .op = {},
            .divided = Divided::outputs,
            .roles = {{WeightRole::gate, shape.inner}, {WeightRole::up, shape.inner}}};
  }
  return {.inputs = shape.model,
          .outputs = shape.inner,
          .bias = shape.bias,
          .initialization = shape.initialization.inner(),
          .op = {.activation = shape.activation, .dropout = inner_dropout(scope, shape)},
          .divided = Divided::outputs,
          .roles = {{WeightRole::up}}};
}

}  // namespace

FeedForward::FeedForward(const Scope& scope, const FeedForwardShape& shape)
    : parts_(&scope.parts()),
      shape_(shape),
      dropout_(inner_dropout(scope, shape)),
      inner_(scope / "inner", inner_options(scope, shape)),
      output_(scope / "output", {.inputs = shape.inner,
                                 .outputs = shape.model,
                                 .bias = shape.bias,
                                 .initialization = shape.initialization.residual(),
                                 .op = {},
                                 .divided = Divided::inputs,
                                 .roles = {{WeightRole::down}}}) {}

Var FeedForward::operator()(Pass& pass, const Var& x) const {
  Var inner = inner_(pass, to_parts(pass, x, *parts_));
  if (shape_.gating == Gating::gated) {
    inner = gate(pass, inner, shape_.activation, dropout_);
  }
  return output_(pass, inner);
}

}  // namespace heed
