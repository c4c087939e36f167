// The decoder-only model.
#pragma once

#include "models/batches.h"
#include "models/output_projection.h"
#include "models/stacks.h"

namespace heed {

// A decoder without an encoder: each token sees those before it and predicts the next. Where embeddings are narrower
// than the model, the output is projected back to their width before it meets the vocabulary.
class CausalLM {
 public:
  CausalLM(const Scope& scope, const ModelConfig& config);

  // The tape refers to the tokens.
  Hidden hidden(Pass& pass, const Sequences& tokens, const StackCall& call = {}) const;
  Logits logits(Pass& pass, const Hidden& hidden) const;
  // `weight` is that of its gradients.
  TokenLosses loss(Pass& pass, const Hidden& hidden, const Targets& expected, Smoothing smoothing,
                   double weight = 1.0) const;
  TokenLosses loss(Pass& pass, const TokenBatch& batch, Smoothing smoothing, const StackCall& call = {}) const;

  // Its layers, for who runs them one by one.
  const Embedding& embedding() const { return embedding_; }
  const SelfAttentionStack& stack() const { return decoder_; }

  // The tape refers to the batch, so a temporary would not live long enough.
  TokenLosses loss(Pass& pass, TokenBatch&& batch, Smoothing smoothing, const StackCall& call = {}) const = delete;

 private:
  Hidden projected_back(Pass& pass, const Hidden& hidden) const;

  Embedding embedding_;
  SelfAttentionStack decoder_;
  std::optional<Linear> back_;
  OutputProjection output_;
};

}  // namespace heed
