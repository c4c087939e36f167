#include "plan/model_cost.h"

#include <algorithm>
#include <array>

#include "decode/cache/page_pool.h"
#include "decode/steppers/paged_stepper.h"
#include "kernels/calls/linear_attention.h"
#include "plan/counted_step.h"

namespace heed {
namespace {

enum class Part : uint8_t { embeddings, attention, feed_forward, norms, output };
constexpr std::array kPartNames{"embeddings", "attention", "feed-forward", "norms", "output"};

Part part_of(const WeightIdentity& weight) {
  return is_of_norm(weight)                                                 ? Part::norms
         : weight.is_of(Sublayer::feed_forward)                             ? Part::feed_forward
         : weight.place.sublayer || weight.has(WeightRole::relative_bias)   ? Part::attention
         : weight.has(WeightRole::logits) || weight.has(WeightRole::labels) ? Part::output
                                                                            : Part::embeddings;
}

}  // namespace

ModelCost cost_of(const ModelConfig& config, const PlanBatch& batch, DType storage) {
  const CountedStep step = count_step(config, {}, batch, storage);
  std::array<PlanPart, kPartNames.size()> parts;
  std::ranges::transform(kPartNames, parts.begin(), [](const char* name) { return PlanPart{.name = name}; });
  const auto part = [&](Part which) -> PlanPart& { return parts[static_cast<size_t>(which)]; };
  // What is no product with a weight is attention's.
  part(Part::attention).forward_flops = step.forward_flops;
  part(Part::attention).training_flops = step.training_flops;
  ModelCost cost{.forward_flops = step.forward_flops,
                 .training_flops = step.training_flops,
                 .activation_bytes = step.peak_bytes,
                 .kept_bytes = step.kept_bytes};
  for (const CountedWeight& weight : step.weights) {
    const Part own = part_of(weight.identity);
    PlanPart& multiplied = part(own == Part::embeddings ? Part::output : own);  // a table is the output projection too
    part(own).parameters += weight.elements;
    cost.parameters += weight.elements;
    multiplied.forward_flops += weight.forward_flops;
    multiplied.training_flops += weight.training_flops;
    part(Part::attention).forward_flops -= weight.forward_flops;
    part(Part::attention).training_flops -= weight.training_flops;
  }
  cost.parts.assign(parts.begin(), parts.end());
  return cost;
}

int64_t cache_bytes_per_token(const ModelConfig& config, DType storage) {
  const CacheShape shape = pool_shape(config, {});
  return PagePool::page_bytes(storage, shape) / shape.page_tokens;
}

int64_t full_cache_bytes(const ModelConfig& config, DType storage) {
  const int64_t window = config.cached_window();
  const int64_t tokens = window == 0 ? config.max_length : std::min(config.max_length, window);
  const int64_t sums = LinearStates::size(config.most_heads_of_keys(config.decoder_layers), config.width_of_head(),
                                          config.width_of_values());
  return cache_bytes_per_token(config, storage) * tokens +
         static_cast<int64_t>(config.linear_layers_of_decoder().size()) * sums * size_of(DType::f32);
}

}  // namespace heed
