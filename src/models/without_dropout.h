// Models whose every pass over a batch computes the same.
#pragma once

#include "models/config.h"

namespace heed {

// Nothing is computed a second time for the backward pass either.
inline ModelConfig without_dropout(ModelConfig config) {
  config.embedding_dropout = config.attention_dropout = config.inner_dropout = config.branch_dropout =
      Probability(0.0F);
  config.recompute = Recompute::nothing;
  return config;
}

}  // namespace heed
