#include "driver_model.h"

namespace heed::parity {

AnyModel::AnyModel(const Scope& scope, const ModelConfig& config) {
  switch (config.architecture) {
    case Architecture::seq2seq:
      seq2seq_.emplace(scope, config);
      break;
    case Architecture::causal_lm:
      causal_lm_.emplace(scope, config);
      break;
    case Architecture::encoder:
      encoder_.emplace(scope, config);
      break;
  }
}

const TokenModel* AnyModel::token_model() const {
  if (causal_lm_) {
    return &*causal_lm_;
  }
  return encoder_ ? &*encoder_ : nullptr;
}

Seq2SeqCall AnyModel::call_of(const Batch& batch) const {
  Seq2SeqCall call;
  if (batch.masks != nullptr) {
    call.encoder.self_mask = &batch.masks->encoder_self;
    call.decoder.self_mask = &batch.masks->decoder_self;
    call.decoder.cross_mask = &batch.masks->cross;
  }
  return call;
}

Logits AnyModel::logits(Pass& pass, const Batch& batch) const {
  const Seq2SeqCall call = call_of(batch);
  if (const TokenModel* const model = token_model()) {
    const StackCall& own = causal_lm_ ? call.decoder : call.encoder;
    return model->logits(pass, model->hidden(pass, batch.tokens.tokens, {.self_mask = own.self_mask}));
  }
  const Memory memory = seq2seq_->encode(pass, batch.pairs.source, call.encoder);
  return seq2seq_->logits(pass, seq2seq_->decode(pass, batch.pairs.target, memory, call.decoder));
}

TokenLosses AnyModel::loss(Pass& pass, const Batch& batch, Smoothing smoothing, LossPath path) const {
  if (path == LossPath::of_logits) {
    return cross_entropy(pass, logits(pass, batch), batch.pairs.expected, smoothing);
  }
  const Seq2SeqCall call = call_of(batch);
  if (const TokenModel* const model = token_model()) {
    const StackCall& own = causal_lm_ ? call.decoder : call.encoder;
    return model->loss(pass, batch.tokens, smoothing, {.self_mask = own.self_mask});
  }
  return seq2seq_->loss(pass, batch.pairs, smoothing, call);
}

}  // namespace heed::parity
