// The cost of a model by its parts: parameters, floating-point operations, memory. Nothing is computed, and no memory
// is needed.
#pragma once

#include "models/config.h"
#include "plan/plan.h"
#include "tensor/dtype.h"

namespace heed {

struct ModelCost {
  std::vector<PlanPart> parts;
  int64_t parameters = 0;
  double forward_flops = 0.0, training_flops = 0.0;  // of one batch
  // The most that a training step's arena holds at once, gradients of activations included.
  int64_t activation_bytes = 0;
  int64_t kept_bytes = 0;  // of these, what the arena holds between forward and backward
};

// `config` must be valid. `storage` is the type of activations; sums over rows are f32.
ModelCost cost_of(const ModelConfig& config, const PlanBatch& batch, DType storage);

// The keys and values that decoding caches per token, over all layers.
int64_t cache_bytes_per_token(const ModelConfig& config, DType storage);
// What decoding keeps of a sequence of the model's maximum length: keys and values of the tokens that some layer still
// needs, and the sums of linear attention.
int64_t full_cache_bytes(const ModelConfig& config, DType storage);

}  // namespace heed
