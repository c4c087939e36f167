// The decoder-only model.
#pragma once

#include "models/token_model.h"

namespace heed {

// A decoder without an encoder: each token sees those before it and predicts the next.
class CausalLM : public TokenModel {
 public:
  CausalLM(const Scope& scope, const ModelConfig& config, const StageRanges& layers);
};

}  // namespace heed
