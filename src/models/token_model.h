// Models of one stream of tokens.
#pragma once

#include "models/stacks.h"
#include "models/stages.h"
#include "ops/loss/loss.h"

namespace heed {

// Sequences, and the token that is expected at each of theirs.
struct TokenBatch {
  Sequences tokens;
  Targets expected;
};

// One stack over one stream of tokens, with an output projection to its vocabulary, or a head's to its labels.
class TokenModel {
 public:
  // In a stage that does not end the stack there is no result, and no loss either; see Pass::set_ends.
  Hidden hidden(Pass& pass, const Sequences& tokens, const StackCall& call = {}) const;
  Logits logits(Pass& pass, const Hidden& hidden) const;
  TokenLosses loss(Pass& pass, const TokenBatch& batch, Smoothing smoothing, const StackCall& call = {}) const;
  // Embedded tokens for another stage.
  Var embed(Pass& pass, const Sequences& tokens) const { return embedding_(pass, tokens); }
  // The tape refers to the batch, so a temporary would not live long enough.
  TokenLosses loss(Pass& pass, TokenBatch&& batch, Smoothing smoothing, const StackCall& call = {}) const = delete;

 protected:
  TokenModel(const Scope& scope, const ModelConfig& config, int64_t vocabulary, const Scope& stack_scope,
             const StackShape& stack, LayerRange layers);
  const LinearWeights& output() const { return output_; }

 private:
  Embedding embedding_;
  SelfAttentionStack stack_;
  LayerRange layers_;  // those that this stage runs
  LinearWeights output_;
  SoftCapAt cap_;  // of the logits
  DividedVocabulary divided_;
};

}  // namespace heed
