#include "models/causal_lm.h"

namespace heed {
namespace {

std::optional<Linear> projection_back(const Scope& scope, const ModelConfig& config) {
  if (config.embedding_width == 0) {
    return std::nullopt;
  }
  return Linear(scope, {.inputs = config.model,
                        .outputs = config.embedding_width,
                        .bias = Bias::none,
                        .initialization = matrix_initialization(config, 1).inner(),
                        .op = {},
                        .roles = {{WeightRole::head_layer}}});
}

}  // namespace

CausalLM::CausalLM(const Scope& scope, const ModelConfig& config)
    : embedding_((scope / "embedding").in(Stack::decoder),
                 embedding_options(config, config.target_vocabulary, use_of_only_table(config))),
      decoder_(stack_scope(scope, Stack::decoder),
               stack_shape(stack_scope(scope, Stack::decoder), config, Stack::decoder)),
      back_(projection_back(scope / "output" / "layer", config)),
      output_(scope / "output", config, config.target_vocabulary,
              config.tying == Tying::none ? nullptr : &embedding_.table()) {}

Hidden CausalLM::hidden(Pass& pass, const Sequences& tokens, const StackCall& call) const {
  return decoder_(pass, embedding_(pass, tokens), tokens, call);
}

Hidden CausalLM::projected_back(Pass& pass, const Hidden& hidden) const {
  return back_ ? Hidden((*back_)(pass, hidden.var())) : hidden;
}

Logits CausalLM::logits(Pass& pass, const Hidden& hidden) const {
  return output_.logits(pass, projected_back(pass, hidden));
}

TokenLosses CausalLM::loss(Pass& pass, const Hidden& hidden, const Targets& expected, Smoothing smoothing,
                           double weight) const {
  return output_.loss(pass, projected_back(pass, hidden), expected, smoothing, weight);
}

TokenLosses CausalLM::loss(Pass& pass, const TokenBatch& batch, Smoothing smoothing, const StackCall& call) const {
  return loss(pass, hidden(pass, batch.tokens, call), batch.expected, smoothing);
}

}  // namespace heed
