// Gradients of a model whose layers are divided among ranks.
#pragma once

#include "parallel/pipeline.h"
#include "parallel/stage_exchange.h"
#include "parallel/stage_gradients.h"
#include "train/gradients/gradient_source.h"
#include "train/learner/distribution.h"
#include "train/learner/model_in_training.h"

namespace heed {

// Where there are several copies of the model, each takes one shard in a round, as in RoundsOverRanks. A copy's shards
// go through its stages one after the other; copies of a stage exchange their gradients.
class PipelineStages final : public GradientSource {
 public:
  // Gradients travel in `type`. The ranks must outlive it.
  PipelineStages(ModelInTraining& model, const Distribution& ranks, DType type);

  std::vector<LossSums> accumulate_gradients(std::span<const Shard* const> shards, const ShardPass& pass) override;
  void discard() override;

 private:
  std::vector<const Shard*> own_shards(std::span<const Shard* const> shards) const;

  const Distribution& ranks_;
  Trainables& trainables_;
  StageExchange exchange_;  // goes after the memory that it sends
  StageGradients gradients_;
  Pipeline pipeline_;
};

}  // namespace heed
