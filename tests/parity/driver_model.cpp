#include "driver_model.h"

namespace heed::parity {
namespace {

Seq2SeqCall call_of(const Batch& batch) {
  Seq2SeqCall call;
  if (batch.masks != nullptr) {
    call.encoder.self_mask = SelfMask(batch.masks->encoder_self);
    call.decoder.self_mask = SelfMask(batch.masks->decoder_self);
    call.decoder.cross_mask = CrossMask(batch.masks->cross);
  }
  return call;
}

StackCall self_call(const CausalLM&, const Batch& batch) { return {.self_mask = call_of(batch).decoder.self_mask}; }
StackCall self_call(const EncoderOnly&, const Batch& batch) { return {.self_mask = call_of(batch).encoder.self_mask}; }

bool has_label_of_each_text(const Batch& batch) {
  return batch.tokens.expected.size() == batch.tokens.tokens.segments().count();
}

Logits logits_of(const Seq2Seq& model, Pass& pass, const Batch& batch) {
  const Seq2SeqCall call = call_of(batch);
  const Memory memory = model.encode(pass, batch.pairs.source, call.encoder);
  return model.logits(pass, model.decode(pass, batch.pairs.target, memory, call.decoder));
}
template <class Model>
Logits logits_of(const Model& model, Pass& pass, const Batch& batch) {
  return model.logits(pass, model.hidden(pass, batch.tokens.tokens, self_call(model, batch)));
}

Logits logits_of(const EncoderOnly& model, Pass& pass, const Batch& batch) {
  const StackCall call = self_call(model, batch);
  const Sequences& texts = batch.tokens.tokens;
  return model.logits(
      pass, has_label_of_each_text(batch) ? model.pooled(pass, texts, call) : model.hidden(pass, texts, call));
}

TokenLosses loss_of(const Seq2Seq& model, Pass& pass, const Batch& batch, Smoothing smoothing) {
  return model.loss(pass, batch.pairs, smoothing, call_of(batch));
}
template <class Model>
TokenLosses loss_of(const Model& model, Pass& pass, const Batch& batch, Smoothing smoothing) {
  return model.loss(pass, batch.tokens, smoothing, self_call(model, batch));
}

TokenLosses loss_of(const EncoderOnly& model, Pass& pass, const Batch& batch, Smoothing smoothing) {
  if (batch.valued) {
    return model.loss(pass, model.pooled(pass, batch.valued->texts), batch.valued->values);
  }
  if (has_label_of_each_text(batch)) {
    return model.loss(pass, model.pooled(pass, batch.tokens.tokens), batch.tokens.expected, smoothing);
  }
  return model.loss(pass, batch.tokens, smoothing, self_call(model, batch));
}

}  // namespace

Logits DriverModel::logits(Pass& pass, const Batch& batch) const {
  return model_.visit([&](const auto& model) { return logits_of(model, pass, batch); });
}

TokenLosses DriverModel::loss(Pass& pass, const Batch& batch, Smoothing smoothing, LossPath path) const {
  if (path == LossPath::of_logits) {
    return cross_entropy(pass, logits(pass, batch), batch.pairs.expected, smoothing);
  }
  return model_.visit([&](const auto& model) { return loss_of(model, pass, batch, smoothing); });
}

}  // namespace heed::parity
