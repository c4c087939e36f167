#include "models/token_model.h"

namespace heed {

TokenModel::TokenModel(const Scope& scope, const ModelConfig& config, int64_t vocabulary, const Scope& stack_scope,
                       const StackShape& stack, LayerRange layers)
    : embedding_(scope / "embedding",
                 embedding_options(config, vocabulary,
                                   config.tying == Tying::none ? WeightUse::table : WeightUse::product_and_table)),
      stack_(stack_scope, stack),
      layers_(layers),
      output_(config.head == Head::tokens ? output_weights(scope / "output", config, vocabulary,
                                                           config.tying == Tying::none ? nullptr : &embedding_.table())
                                          : output_weights(scope / "head", config, config.encoder_outputs(), nullptr)),
      cap_{config.logit_cap},
      divided_(config.head == Head::tokens ? DividedVocabulary(&scope.parts(), vocabulary) : DividedVocabulary()) {}

Hidden TokenModel::hidden(Pass& pass, const Sequences& tokens, const StackCall& call) const {
  if (pass.ends() == nullptr) {
    return stack_(pass, embedding_(pass, tokens), tokens, call);
  }
  const Stream begin = layers_.first == 0
                           ? stack_.enter(pass, embedded_tokens(pass, Crossing::source, embedding_, tokens))
                           : stream_in(pass);
  const Stream end = stack_.run(pass, begin, layers_, tokens, call);
  if (layers_.end == stack_.size()) {
    return stack_.leave(pass, end);
  }
  pass_on(pass, end);
  return {};
}

Logits TokenModel::logits(Pass& pass, const Hidden& hidden) const {
  ensure(!divided_.is_divided(), "model", "logits over a vocabulary of which this rank has a part");
  return output_logits(pass, hidden, output_, cap_);
}

TokenLosses TokenModel::loss(Pass& pass, const TokenBatch& batch, Smoothing smoothing, const StackCall& call) const {
  const Hidden rows = hidden(pass, batch.tokens, call);
  return rows.var().empty() ? TokenLosses::none()
                            : output_loss(pass, rows, output_, batch.expected, {smoothing, cap_, divided_});
}

}  // namespace heed
