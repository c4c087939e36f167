// Runs an update's shards through a model that is divided into stages, one of which is here.
#pragma once

#include <span>
#include <vector>

#include "ops/tape.h"
#include "parallel/shard.h"
#include "parallel/stage_gradients.h"
#include "parallel/stage_plan.h"
#include "ranks/ranks.h"

namespace heed {

// One forward, one backward in turn: stage p of P runs the forward of P - 1 - p shards ahead, and then for each shard
// the forward of one and the backward of an earlier one, so that at most P - p shards have their activations here.
// Messages are received ahead: while a shard is computed, the next one's input travels.
//
// Losses and gradients have the same bits as in one process: layers run the same ops on the same rows, what crosses
// between stages is not rounded, and gradients are added in the same order.
class Pipeline {
 public:
  // `stages` are the ranks of one copy of the model, as many as the plan has, in its order. All of these must outlive
  // it.
  Pipeline(const Ranks& stages, Backend& backend, DType storage, const AnyModel& model, const StagePlan& plan);

  // Collective. All ranks call it with the same shards, whose gradients are then in `gradients`. The last one may be
  // null: then other copies of the model have a shard with whose gradients this one has to go on. Returns each shard's
  // losses in the last stage, and in the others nothing.
  std::vector<TokenLosses> accumulate_gradients(std::span<const Shard* const> shards, const ShardPass& pass,
                                                StageGradients& gradients);

 private:
  class Run;  // an update

  Ranks stages_;
  Backend& backend_;
  DType storage_;
  const AnyModel& model_;
  const StagePlan& plan_;
};

}  // namespace heed
