// Any of the three architectures behind one face.
#pragma once

#include <optional>

#include "driver_request.h"

namespace heed::parity {

class AnyModel {
 public:
  AnyModel(const Scope& scope, const ModelConfig& config);

  Logits logits(Pass& pass, const Batch& batch) const;
  TokenLosses loss(Pass& pass, const Batch& batch, Smoothing smoothing, LossPath path) const;

 private:
  // The architecture when it is a model of one stream.
  const TokenModel* token_model() const;
  Seq2SeqCall call_of(const Batch& batch) const;

  std::optional<Seq2Seq> seq2seq_;
  std::optional<CausalLM> causal_lm_;
  std::optional<EncoderOnly> encoder_;
};

}  // namespace heed::parity
