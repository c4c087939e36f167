// The encoder-only model.
#pragma once

#include "models/token_model.h"
#include "ops/loss/label_loss.h"

namespace heed {

// Texts, and the values of each: 0 or 1 for each label, or one number.
struct ValuedBatch {
  Sequences texts;
  LabelTargets values;
};

// An encoder alone: each token sees all tokens. Its head predicts masked tokens, or labels of tokens, from each row
// (TokenModel's loss and logits), or what a text is from all of its rows, pooled.
class EncoderOnly : public TokenModel {
 public:
  EncoderOnly(const Scope& scope, const ModelConfig& config, const StageRanges& layers);

  // A row for each text; none in a stage that does not end the stack. The tape refers to the texts.
  Hidden pooled(Pass& pass, const Sequences& texts, const StackCall& call = {}) const;
  Hidden pooled(Pass& pass, const Sequences& texts, Pooling pooling) const;

  // Of Head::one_label, with the number of each text's label; and of several labels or a number. The tape refers to the
  // texts.
  TokenLosses label_loss(Pass& pass, const Sequences& texts, const Targets& labels, Smoothing smoothing) const;
  TokenLosses value_loss(Pass& pass, const ValuedBatch& batch) const;

 private:
  Head head_;
  Pooling pooling_;
};

}  // namespace heed
