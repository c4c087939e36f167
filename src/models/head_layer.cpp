#include "models/head_layer.h"

#include "models/stacks.h"

namespace heed {

HeadLayer::HeadLayer(const Scope& scope, const ModelConfig& config) {
  if (!config.head_layer) {
    return;
  }
  linear_.emplace(scope, Linear::Options{.inputs = config.model,
                                         .outputs = config.width_of_head_layer(),
                                         .bias = config.bias,
                                         .initialization = matrix_initialization(config, 1).inner(),
                                         .op = {.activation = *config.head_layer, .dropout = {}},
                                         .roles = {{WeightRole::head_layer}}});
  if (config.head_layer_norm == HeadLayerNorm::present) {
    NormShape shape = norm_shape(config);
    shape.width = config.width_of_head_layer();
    norm_.emplace(scope / "norm", WeightRole::head_norm, shape);
  }
}

Hidden HeadLayer::operator()(Pass& pass, const Hidden& hidden) const {
  if (!linear_) {
    return hidden;
  }
  const Var made = (*linear_)(pass, hidden.var());
  return Hidden(norm_ ? (*norm_)(pass, made) : made);
}

TextLayer::TextLayer(const Scope& scope, const ModelConfig& config) {
  if (config.text_width > 0) {
    linear_.emplace(scope, Linear::Options{.inputs = config.model,
                                           .outputs = config.text_width,
                                           .bias = config.text_bias,
                                           .initialization = matrix_initialization(config, 1).inner(),
                                           .op = {.activation = config.text_activation, .dropout = {}},
                                           .roles = {{WeightRole::text_layer}}});
  }
}

Hidden TextLayer::operator()(Pass& pass, const Hidden& pooled) const {
  return linear_ ? Hidden((*linear_)(pass, pooled.var())) : pooled;
}

}  // namespace heed
