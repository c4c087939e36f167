// Gradients of shards that are dealt out among ranks which each hold a copy of the model.
#pragma once

#include "parallel/gradient_exchange.h"
#include "train/gradients/gradient_source.h"
#include "train/learner/distribution.h"
#include "train/learner/model_in_training.h"
#include "train/learner/teacher.h"

namespace heed {

// In each round, rank r computes the r-th shard, and its gradient travels to the owners of its slices while backward
// goes on. One rank alone rounds its gradients as if they travelled.
class RoundsOverRanks final : public GradientSource {
 public:
  // Gradients travel in `type`.
  RoundsOverRanks(ModelInTraining& model, const Distribution& ranks, DType type, const Teacher* teacher = nullptr);

  std::vector<LossSums> accumulate_gradients(std::span<const Shard* const> shards, const ShardPass& pass) override;

 private:
  ModelInTraining& model_;
  const Teacher* teacher_;  // null: none
  Ranks copies_;
  GradientExchange exchange_;
};

}  // namespace heed
