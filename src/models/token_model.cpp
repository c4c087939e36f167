#include "models/token_model.h"

namespace heed {

TokenModel::TokenModel(const Scope& scope, const ModelConfig& config, int64_t vocabulary, const Scope& stack_scope,
                       const StackShape& stack)
    : embedding_(scope / "embedding",
                 embedding_options(config, vocabulary,
                                   config.tying == Tying::none ? WeightUse::table : WeightUse::product_and_table)),
      stack_(stack_scope, stack),
      output_(config.head == Head::tokens ? output_weights(scope / "output", config, vocabulary,
                                                           config.tying == Tying::none ? nullptr : &embedding_.table())
                                          : output_weights(scope / "head", config, config.encoder_outputs(), nullptr)),
      cap_{config.logit_cap} {}

Hidden TokenModel::hidden(Pass& pass, const Sequences& tokens, const StackCall& call) const {
  return stack_(pass, embedding_(pass, tokens), tokens, call);
}

Logits TokenModel::logits(Pass& pass, const Hidden& hidden) const { return output_logits(pass, hidden, output_, cap_); }

TokenLosses TokenModel::loss(Pass& pass, const TokenBatch& batch, Smoothing smoothing, const StackCall& call) const {
  return output_loss(pass, hidden(pass, batch.tokens, call), output_, batch.expected, smoothing, cap_);
}

}  // namespace heed
