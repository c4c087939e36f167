#include "models/encoder_only.h"

#include "ops/rows/pool.h"

namespace heed {
namespace {

std::optional<OutputProjection> head_of(const Scope& scope, const ModelConfig& config, const Weight& table) {
  switch (config.head) {
    case Head::none:
      return std::nullopt;
    case Head::tokens:
      return OutputProjection(scope / "output", config, config.source_vocabulary,
                              config.tying == Tying::none ? nullptr : &table);
    default:
      return OutputProjection(scope / "head", config, config.encoder_outputs(), nullptr);
  }
}

}  // namespace

EncoderOnly::EncoderOnly(const Scope& scope, const ModelConfig& config)
    : embedding_((scope / "embedding").in(Stack::encoder),
                 embedding_options(config, config.source_vocabulary, use_of_only_table(config))),
      encoder_(stack_scope(scope, Stack::encoder),
               stack_shape(stack_scope(scope, Stack::encoder), config, Stack::encoder)),
      head_layer_(scope / (config.head == Head::tokens ? "output" : "head") / "layer", config),
      output_(head_of(scope, config, embedding_.table())),
      text_layer_(scope / "text_layer", config),
      head_(config.head),
      pooling_(config.pooling) {}

Hidden EncoderOnly::hidden(Pass& pass, const Sequences& tokens, const StackCall& call) const {
  return encoder_(pass, embedding_(pass, tokens), tokens, call);
}

Hidden EncoderOnly::pooled(Pass& pass, const Hidden& hidden, const Segments& texts) const {
  return Hidden(pool(pass, hidden.var(), texts, pooling_));
}

Hidden EncoderOnly::pooled(Pass& pass, const Sequences& texts, const StackCall& call) const {
  return pooled(pass, hidden(pass, texts, call), texts.segments());
}

Hidden EncoderOnly::text_embeddings(Pass& pass, const Hidden& hidden, const Segments& texts, Pooling pooling) const {
  return text_layer_(pass, Hidden(pool(pass, hidden.var(), texts, pooling)));
}

Hidden EncoderOnly::text_embeddings(Pass& pass, const Sequences& texts, Pooling pooling) const {
  return text_embeddings(pass, hidden(pass, texts), texts.segments(), pooling);
}

const OutputProjection& EncoderOnly::output() const {
  ensure(output_.has_value(), "encoder", "the model has no head");
  return *output_;
}

Logits EncoderOnly::logits(Pass& pass, const Hidden& hidden) const {
  return output().logits(pass, head_layer_(pass, hidden));
}

TokenLosses EncoderOnly::loss(Pass& pass, const Hidden& hidden, const Targets& expected, Smoothing smoothing) const {
  return output().loss(pass, head_layer_(pass, hidden), expected, smoothing);
}

TokenLosses EncoderOnly::loss(Pass& pass, const TokenBatch& batch, Smoothing smoothing, const StackCall& call) const {
  return loss(pass, hidden(pass, batch.tokens, call), batch.expected, smoothing);
}

TokenLosses EncoderOnly::loss(Pass& pass, const Hidden& pooled, const LabelTargets& values) const {
  return label_loss(pass, logits(pass, pooled), values,
                    head_ == Head::number ? LabelLossKind::squared : LabelLossKind::sigmoid);
}

}  // namespace heed
