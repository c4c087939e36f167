// A model divided by a layout: what each stage's ranks hold and compute.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"
#include "plan/layouts/layout_cost.h"
#include "plan/plan.h"
#include "tensor/dtype.h"

namespace heed {

// What PlanStage says of a stage, in FLOPs instead of seconds, and for all its weights.
struct StageCost {
  double forward_flops = 0.0, backward_flops = 0.0;  // of a shard
  int64_t parameters = 0, parameters_last = 0;       // last: whose gradients backward finishes last
  int64_t peak_activations = 0, kept_activations = 0;
  int64_t tensor_sums = 0;
  double tensor_bytes = 0.0, boundary_bytes = 0.0;
};

// Why the model or the update can't have the layout, one reason each; empty when it can. `shards` are the update's.
std::vector<std::string> obstacles(const Layout& layout, const ModelConfig& config, int64_t shards);

// The stages of a layout without obstacles, cut as parallel/stage_plan.h cuts them. The first stage holds the
// embeddings, the one with the decoder's first layer those of the target, the last one the output and what is tied to
// it.
std::vector<StageCost> stages_of(const Layout& layout, const ModelConfig& config, const PlanBatch& shard,
                                 DType storage);

}  // namespace heed
