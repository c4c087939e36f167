// The encoder-only model.
#pragma once

#include <optional>

#include "models/batches.h"
#include "models/head_layer.h"
#include "models/output_projection.h"
#include "models/stacks.h"

namespace heed {

// An encoder alone: each token sees all tokens. Its head predicts masked tokens, or labels of tokens, from each row, or
// what a text is from all of its rows, pooled.
class EncoderOnly {
 public:
  EncoderOnly(const Scope& scope, const ModelConfig& config);

  // A row for each token. The tape refers to the tokens.
  Hidden hidden(Pass& pass, const Sequences& tokens, const StackCall& call = {}) const;
  // A row for each text.
  Hidden pooled(Pass& pass, const Hidden& hidden, const Segments& texts) const;
  Hidden pooled(Pass& pass, const Sequences& texts, const StackCall& call = {}) const;
  // The embedding of each text: pooled, and through the text layer where there is one. Not normalized.
  Hidden text_embeddings(Pass& pass, const Hidden& hidden, const Segments& texts, Pooling pooling) const;
  Hidden text_embeddings(Pass& pass, const Sequences& texts, Pooling pooling) const;

  Logits logits(Pass& pass, const Hidden& hidden) const;
  // With the token that each row expects, or the number of its label.
  TokenLosses loss(Pass& pass, const Hidden& hidden, const Targets& expected, Smoothing smoothing) const;
  TokenLosses loss(Pass& pass, const TokenBatch& batch, Smoothing smoothing, const StackCall& call = {}) const;
  // For heads with several labels or a number for each text.
  TokenLosses loss(Pass& pass, const Hidden& pooled, const LabelTargets& values) const;

  // Its layers, for who runs them one by one.
  const Embedding& embedding() const { return embedding_; }
  const SelfAttentionStack& stack() const { return encoder_; }

  // The tape refers to the batch, so a temporary would not live long enough.
  TokenLosses loss(Pass& pass, TokenBatch&& batch, Smoothing smoothing, const StackCall& call = {}) const = delete;

 private:
  const OutputProjection& output() const;

  Embedding embedding_;
  SelfAttentionStack encoder_;
  HeadLayer head_layer_;
  std::optional<OutputProjection> output_;  // none: there is no head
  TextLayer text_layer_;
  Head head_;
  Pooling pooling_;
};

}  // namespace heed
