// What a training step takes: the model runs on a backend that counts and computes nothing.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"
#include "ops/weight.h"
#include "plan/plan.h"
#include "tensor/dtype.h"

namespace heed {

// What one rank has of a model: a stage of its layers, and a share of each matrix that is divided. The stage and the
// rank of the shares with most is meant; of one stage and one share, the whole model.
struct RankPart {
  int stage = 0, stages = 1;
  int shares = 1;
};

// A weight that the rank holds, and the products with it, forward and in all of the step.
struct CountedWeight {
  WeightIdentity identity;
  WeightUse use = WeightUse::vector;
  int64_t elements = 0;
  double forward_flops = 0.0, training_flops = 0.0;
};

// FLOPs are those of products and of attention, which counts visible keys only. `training` includes `forward`, backward
// and what is computed again. Bytes are those of activations and their gradients.
struct CountedStep {
  std::vector<CountedWeight> weights;
  double forward_flops = 0.0, training_flops = 0.0;
  int64_t peak_bytes = 0;
  int64_t kept_bytes = 0;  // between forward and backward
  // Over the ranks that share matrices, and the bytes that they add up together, as if each sum were exchanged by rows.
  int64_t sums = 0;
  double summed_bytes = 0.0;
};

// All weights are trained. A batch of very many tokens is counted by some of its sequences: costs are in proportion to
// their number. Embeddings that a stage looks up for another one are left out.
CountedStep count_step(const ModelConfig& config, const RankPart& part, const PlanBatch& batch, DType storage);

}  // namespace heed
