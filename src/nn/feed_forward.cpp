#include "nn/feed_forward.h"

namespace heed {
namespace {

Linear::Options inner_options(const Scope& scope, const FeedForwardShape& shape) {
  if (shape.gating == Gating::gated) {
    return {.inputs = shape.model,
            .outputs = 2 * shape.inner,
            .bias = shape.bias,
            .initialization = shape.initialization.inner(2),
            .op = {}};
  }
  return {.inputs = shape.model,
          .outputs = shape.inner,
          .bias = shape.bias,
          .initialization = shape.initialization.inner(),
          .op = {.activation = shape.activation, .dropout = {scope.site("dropout"), shape.dropout}}};
}

}  // namespace

FeedForward::FeedForward(const Scope& scope, const FeedForwardShape& shape)
    : shape_(shape),
      dropout_{scope.site("dropout"), shape.dropout},
      inner_(scope / "inner", inner_options(scope, shape)),
      output_(scope / "output", {.inputs = shape.inner,
                                 .outputs = shape.model,
                                 .bias = shape.bias,
                                 .initialization = shape.initialization.residual(),
                                 .op = {}}) {}

Var FeedForward::operator()(Pass& pass, const Var& x) const {
  Var inner = inner_(pass, x);
  if (shape_.gating == Gating::gated) {
    inner = gate(pass, inner, shape_.activation, dropout_);
  }
  return output_(pass, inner);
}

}  // namespace heed
