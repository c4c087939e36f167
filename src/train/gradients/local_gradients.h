// Gradients of shards that this rank computes alone.
#pragma once

#include "train/gradients/gradient_source.h"
#include "train/learner/model_in_training.h"
#include "train/learner/teacher.h"

namespace heed {

// Takes all shards of an update, or this rank's own where ranks train independently. A tape runs each shard forward and
// backward, and its gradient is added to that of the shards before.
class LocalGradients final : public GradientSource {
 public:
  explicit LocalGradients(ModelInTraining& model, const Teacher* teacher = nullptr)
      : model_(model), teacher_(teacher) {}

  std::vector<LossSums> accumulate_gradients(std::span<const Shard* const> shards, const ShardPass& pass) override;

 private:
  ModelInTraining& model_;
  const Teacher* teacher_;  // null: none
};

}  // namespace heed
