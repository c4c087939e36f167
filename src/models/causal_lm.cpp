#include "models/causal_lm.h"

namespace heed {

CausalLM::CausalLM(const Scope& scope, const ModelConfig& config)
    : embedding_((scope / "embedding").in(Stack::decoder),
                 embedding_options(config, config.target_vocabulary, use_of_only_table(config))),
      decoder_(stack_scope(scope, Stack::decoder),
               stack_shape(stack_scope(scope, Stack::decoder), config, Stack::decoder)),
      output_(scope / "output", config, config.target_vocabulary,
              config.tying == Tying::none ? nullptr : &embedding_.table()) {}

Hidden CausalLM::hidden(Pass& pass, const Sequences& tokens, const StackCall& call) const {
  return decoder_(pass, embedding_(pass, tokens), tokens, call);
}

Logits CausalLM::logits(Pass& pass, const Hidden& hidden) const { return output_.logits(pass, hidden); }

TokenLosses CausalLM::loss(Pass& pass, const Hidden& hidden, const Targets& expected, Smoothing smoothing) const {
  return output_.loss(pass, hidden, expected, smoothing);
}

TokenLosses CausalLM::loss(Pass& pass, const TokenBatch& batch, Smoothing smoothing, const StackCall& call) const {
  return loss(pass, hidden(pass, batch.tokens, call), batch.expected, smoothing);
}

}  // namespace heed
