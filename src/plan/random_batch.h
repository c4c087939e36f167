// A batch of random tokens, for any model.
#pragma once

#include "parallel/shard.h"
#include "plan/plan.h"

namespace heed {

class RandomBatch final : public Shard {
 public:
  RandomBatch(const ModelConfig& config, const PlanBatch& shape, uint64_t seed);

  const PlanBatch& shape() const { return shape_; }
  int64_t targets() const override { return expected_.size(); }
  ShardTexts texts() const override { return {is_pair_ ? source_ : stream_, stream_}; }
  // The loss of what the model's head predicts.
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override;
  TokenLosses loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                             Smoothing smoothing) const override;

 private:
  PlanBatch shape_;
  bool is_pair_;
  Head head_;
  Sequences source_, stream_;
  Targets expected_;     // of each token, or of each text
  LabelTargets values_;  // of each text
};

}  // namespace heed
