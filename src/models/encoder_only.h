// The encoder-only model.
#pragma once

#include "models/token_model.h"

namespace heed {

// An encoder alone: each token sees all tokens, and masked tokens are predicted.
class EncoderOnly : public TokenModel {
 public:
  EncoderOnly(const Scope& scope, const ModelConfig& config);
};

}  // namespace heed
