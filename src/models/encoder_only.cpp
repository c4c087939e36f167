#include "models/encoder_only.h"

#include "ops/pool.h"

namespace heed {

EncoderOnly::EncoderOnly(const Scope& scope, const ModelConfig& config)
    : TokenModel(scope, config, config.source_vocabulary, scope / "encoder",
                 stack_shape(scope / "encoder", config, config.encoder_layers, Visibility::Reach::full)),
      head_(config.head),
      pooling_(config.pooling) {}

Hidden EncoderOnly::pooled(Pass& pass, const Sequences& texts, const StackCall& call) const {
  return Hidden(pool(pass, hidden(pass, texts, call).var(), texts.segments(), pooling_));
}

Hidden EncoderOnly::pooled(Pass& pass, const Sequences& texts, Pooling pooling) const {
  return Hidden(pool(pass, hidden(pass, texts).var(), texts.segments(), pooling));
}

TokenLosses EncoderOnly::label_loss(Pass& pass, const Sequences& texts, const Targets& labels,
                                    Smoothing smoothing) const {
  return output_loss(pass, pooled(pass, texts), output(), labels, smoothing);
}

TokenLosses EncoderOnly::value_loss(Pass& pass, const ValuedBatch& batch) const {
  const LabelLossKind kind = head_ == Head::number ? LabelLossKind::squared : LabelLossKind::sigmoid;
  return heed::label_loss(pass, logits(pass, pooled(pass, batch.texts)), batch.values, kind);
}

}  // namespace heed
