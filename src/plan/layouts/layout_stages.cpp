#include "plan/layouts/layout_stages.h"

#include <algorithm>

#include "base/errors.h"
#include "parallel/stage_plan.h"
#include "plan/counted_step.h"

namespace heed {
namespace {

// Why some layers have to stay in one stage; empty: they need not.
std::string_view tie_between_layers(const ModelConfig& config) {
  return config.has_relative_bias()                  ? "share relative biases"
         : config.shared_layers == SharedLayers::yes ? "are the same"
         : config.skips == Skips::mirrored           ? "add other layers' outputs"
         : config.has_value_embeddings()             ? "share value embeddings"
                                                     : "";
}

int64_t layers_of(const ModelConfig& config) {
  return config.layers_of(Stack::encoder) + config.layers_of(Stack::decoder);
}

int64_t layers_in(const StageRanges& ranges) {
  return static_cast<int64_t>(ranges.encoder.end - ranges.encoder.first + ranges.decoder.end - ranges.decoder.first);
}

int64_t parameters_of(const CountedStep& step) {
  int64_t parameters = 0;
  for (const CountedWeight& weight : step.weights) {
    parameters += weight.elements;
  }
  return parameters;
}

bool is_table(const CountedWeight& weight) {
  return weight.use == WeightUse::table || weight.use == WeightUse::product_and_table;
}

// Backward ends with the tables of tokens, with those of the source where there are several; without any, with a layer.
int64_t parameters_last(const CountedStep& step, int64_t layers) {
  int64_t tables = 0, of_source = 0, others = 0;
  for (const CountedWeight& weight : step.weights) {
    tables += is_table(weight) ? weight.elements : 0;
    of_source += is_table(weight) && weight.identity.is_of(Stack::encoder) ? weight.elements : 0;
    others += weight.identity.place.layer ? weight.elements : 0;
  }
  return std::max(of_source > 0 ? of_source : tables, others / std::max<int64_t>(1, layers));
}

// What goes from this stage to the next for the shard: the residual stream, with its normalized copy where the next
// layer reads that, and in a decoder the encoder's output.
int64_t boundary_rows(const StagePlan& plan, const PlanBatch& shard, int64_t stage) {
  const bool has_source = shard.source_length > 0, has_target = shard.target_length > 0;
  int64_t rows = 0;
  if (stage + 1 < plan.count()) {
    for (const StagePort& port : plan.inputs_of(static_cast<int>(stage + 1))) {
      const bool of_source = has_source && (port.rows == StagePort::Rows::source || !has_target);
      rows += shard.sequences * (of_source ? shard.source_length : shard.target_length);
    }
  }
  return rows;
}

}  // namespace

std::vector<std::string> obstacles(const Layout& layout, const ModelConfig& config, int64_t shards) {
  std::vector<std::string> found;
  if (layout.data > shards) {
    found.push_back(
        fmt::format("data {} is more than the update's {} shard{}", layout.data, shards, shards == 1 ? "" : "s"));
  }
  const int64_t layers = layers_of(config);
  if (layout.pipeline > layers) {
    found.push_back(fmt::format("pipeline {} is more than the model's {} layer{}", layout.pipeline, layers,
                                layers == 1 ? "" : "s"));
  } else if (layout.pipeline > 1 && !tie_between_layers(config).empty()) {
    try {
      (void)StagePlan(config, layout.pipeline);
    } catch (const ConfigError&) {
      found.push_back(fmt::format("pipeline {} divides layers that {}", layout.pipeline, tie_between_layers(config)));
    }
  }
  for (std::string& obstacle : obstacles_to_parts(config, layout.tensor)) {
    found.push_back(std::move(obstacle));
  }
  return found;
}

std::vector<StageCost> stages_of(const Layout& layout, const ModelConfig& config, const PlanBatch& shard,
                                 DType storage) {
  const StagePlan plan(config, static_cast<int>(layout.pipeline));
  std::vector<StageCost> stages;
  stages.reserve(static_cast<size_t>(layout.pipeline));
  for (int stage = 0; stage < plan.count(); ++stage) {
    const CountedStep step = count_step(config, {stage, plan.count(), static_cast<int>(layout.tensor)}, shard, storage);
    const double row_bytes = static_cast<double>(config.model * size_of(storage));
    stages.push_back({.forward_flops = step.forward_flops,
                      .backward_flops = step.training_flops - step.forward_flops,
                      .parameters = parameters_of(step),
                      .parameters_last = parameters_last(step, layers_in(plan.layers_of(stage))),
                      .peak_activations = step.peak_bytes,
                      .kept_activations = step.kept_bytes,
                      .tensor_sums = step.sums,
                      .tensor_bytes = step.summed_bytes,
                      .boundary_bytes = static_cast<double>(boundary_rows(plan, shard, stage)) * row_bytes});
  }
  return stages;
}

}  // namespace heed
