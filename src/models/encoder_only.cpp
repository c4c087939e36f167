#include "models/encoder_only.h"

#include "ops/rows/pool.h"

namespace heed {

EncoderOnly::EncoderOnly(const Scope& scope, const ModelConfig& config, const StageRanges& layers)
    : TokenModel(scope, config, config.source_vocabulary, scope / "encoder",
                 stack_shape(scope / "encoder", config, Stack::encoder), layers.encoder),
      head_(config.head),
      pooling_(config.pooling) {}

Hidden EncoderOnly::pooled(Pass& pass, const Sequences& texts, const StackCall& call) const {
  const Hidden rows = hidden(pass, texts, call);
  return rows.var().empty() ? rows : Hidden(pool(pass, rows.var(), texts.segments(), pooling_));
}

Hidden EncoderOnly::pooled(Pass& pass, const Sequences& texts, Pooling pooling) const {
  return Hidden(pool(pass, hidden(pass, texts).var(), texts.segments(), pooling));
}

TokenLosses EncoderOnly::label_loss(Pass& pass, const Sequences& texts, const Targets& labels,
                                    Smoothing smoothing) const {
  const Hidden rows = pooled(pass, texts);
  return rows.var().empty() ? TokenLosses::none() : output_loss(pass, rows, output(), labels, smoothing);
}

TokenLosses EncoderOnly::value_loss(Pass& pass, const ValuedBatch& batch) const {
  const LabelLossKind kind = head_ == Head::number ? LabelLossKind::squared : LabelLossKind::sigmoid;
  const Hidden rows = pooled(pass, batch.texts);
  return rows.var().empty() ? TokenLosses::none() : heed::label_loss(pass, logits(pass, rows), batch.values, kind);
}

}  // namespace heed
