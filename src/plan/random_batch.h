// A batch of random tokens, for any model.
#pragma once

#include "models/any_model.h"
#include "plan/plan.h"

namespace heed {

class RandomBatch {
 public:
  RandomBatch(const ModelConfig& config, const PlanBatch& shape, uint64_t seed);

  // The tape refers to the batch, which must outlive it.
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const;

 private:
  TokenLosses loss(Pass& pass, const Seq2Seq& model, Smoothing smoothing) const;
  template <class TokenModel>
  TokenLosses loss(Pass& pass, const TokenModel& model, Smoothing smoothing) const {
    return model.loss(pass, tokens_, smoothing);
  }

  PairBatch pairs_;
  TokenBatch tokens_;
};

}  // namespace heed
