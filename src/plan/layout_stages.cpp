#include "plan/layout_stages.h"

#include <algorithm>

#include "base/errors.h"
#include "base/rounding.h"
#include "parallel/stage_plan.h"
#include "plan/model_cost.h"

namespace heed {
namespace {

bool has_encoder(const ModelConfig& config) { return config.architecture != Architecture::causal_lm; }
bool has_decoder(const ModelConfig& config) { return config.architecture != Architecture::encoder; }
int64_t encoder_layers(const ModelConfig& config) { return has_encoder(config) ? config.encoder_layers : 0; }
int64_t decoder_layers(const ModelConfig& config) { return has_decoder(config) ? config.decoder_layers : 0; }

int64_t part_of(int64_t whole, int64_t parts) { return ceil_div(whole, parts); }

// The stage's position and its layers.
struct StageLayers {
  bool is_first = false, is_last = false;
  int64_t encoder = 0, decoder = 0;
  bool begins_decoder = false;
  StageRanges ranges;
};

StageLayers layers_of_stage(const StagePlan& plan, const ModelConfig& config, int64_t stage) {
  const StageRanges& ranges = plan.layers_of(static_cast<int>(stage));
  return {.is_first = stage == 0,
          .is_last = stage + 1 == plan.count(),
          .encoder = static_cast<int64_t>(ranges.encoder.end - ranges.encoder.first),
          .decoder = static_cast<int64_t>(ranges.decoder.end - ranges.decoder.first),
          .begins_decoder = has_decoder(config) && !ranges.decoder.empty() && ranges.decoder.first == 0,
          .ranges = ranges};
}

// The model that one rank of a stage runs: its part of the heads, inner columns and vocabulary.
ModelConfig config_of_stage(const Layout& layout, const ModelConfig& config, const StageLayers& layers) {
  ModelConfig part = config;
  part.head_width = config.width_of_head();
  part.value_width = config.width_of_values();
  part.key_value_heads = config.key_value_heads.with_each([&](int64_t keys) { return keys / layout.tensor; });
  part.heads = config.heads / layout.tensor;
  part.inner = config.inner.with_each([&](int64_t inner) { return inner / layout.tensor; });
  // Without the output the loss costs next to nothing.
  part.source_vocabulary = layers.is_last ? part_of(config.source_vocabulary, layout.tensor) : 1;
  part.target_vocabulary = layers.is_last ? part_of(config.target_vocabulary, layout.tensor) : 1;
  return part;
}

// The tables of tokens and of positions that a rank of the stage holds, the output's own where it is tied included.
struct StageTables {
  int64_t looked_up = 0, of_output = 0;
  int64_t last = 0;  // those among them whose gradients backward finishes last: the encoder's, where there is one
};

StageTables tables_of_stage(const Layout& layout, const ModelConfig& config, const StageLayers& layers) {
  const int64_t positions = config.positions == Positions::learned ? config.max_length * config.model : 0;
  const int64_t source = part_of(config.source_vocabulary, layout.tensor) * config.model;
  const int64_t target = part_of(config.target_vocabulary, layout.tensor) * config.model;
  const int64_t output = has_decoder(config) ? target : source;
  const bool has_source = has_encoder(config) && layers.is_first;
  const bool tied = config.tying != Tying::none && config.head == Head::tokens;
  const bool source_is_output = tied && (config.tying == Tying::all || !has_decoder(config));
  StageTables tables;
  if (has_source) {
    tables.looked_up += positions + config.token_types * config.model + (source_is_output ? 0 : source);
    tables.last = tables.looked_up + (source_is_output && layers.is_last ? output : 0);
  }
  if (layers.begins_decoder) {
    tables.looked_up += positions + (tied ? 0 : target);
  }
  if (layers.is_last && tied) {
    tables.of_output = output;
  }
  if (!has_source) {
    tables.last = tables.looked_up + tables.of_output;
  }
  return tables;
}

int64_t parameters_of(const ModelCost& cost, std::string_view part) {
  const auto found = std::ranges::find(cost.parts, part, &PlanPart::name);
  ensure(found != cost.parts.end(), "plan", "no part is called {}", part);
  return found->parameters;
}

double flops_of(const ModelCost& cost, std::string_view part) {
  return std::ranges::find(cost.parts, part, &PlanPart::name)->forward_flops;
}

// Rows of activations that the sums of one pass over the layers add up: after attention, after attention to the
// encoder, and after the feed-forward layer; backward the gradients at the same places, and the memory's.
struct Sums {
  int64_t count = 0, rows = 0;

  void add(int64_t times, int64_t of_rows) {
    count += times;
    rows += times * of_rows;
  }
};

Sums sums_of_stage(const ModelConfig& config, const PlanBatch& shard, const StageLayers& layers) {
  const int64_t source = shard.sequences * shard.source_length, target = shard.sequences * shard.target_length;
  const bool cross = config.architecture == Architecture::seq2seq;
  constexpr int64_t kBranches = 2;                                  // sequential or parallel, each is summed by itself
  const int64_t passes = config.keep == Keep::activations ? 2 : 3;  // forward and backward, and forward again
  Sums sums;
  sums.add(layers.encoder * kBranches * passes, source);
  sums.add(layers.decoder * (kBranches + (cross ? 1 : 0)) * passes, target);
  sums.add(cross && layers.decoder > 0 ? 1 : 0, source);  // the memory's gradient, of all layers at once
  if (has_encoder(config) && layers.is_first) {
    sums.add(1, source);  // rows of a divided table
  }
  if (layers.begins_decoder) {
    sums.add(1, target);
  }
  if (layers.is_last) {
    sums.add(1, has_decoder(config) ? target : source);  // what the logits' gradient becomes
  }
  return sums;
}

// Of the shard, from this stage to the next: the residual stream, with its normalized copy where the next layer reads
// that, and in a decoder the encoder's output.
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
  const int64_t layers = encoder_layers(config) + decoder_layers(config);
  if (layout.pipeline > layers) {
    found.push_back(fmt::format("pipeline {} is more than the model's {} layer{}", layout.pipeline, layers,
                                layers == 1 ? "" : "s"));
  } else if (layout.pipeline > 1 && config.positions == Positions::relative_bias) {
    try {
      (void)StagePlan(config, layout.pipeline);
    } catch (const ConfigError&) {
      found.push_back(fmt::format("pipeline {} divides layers that share relative biases", layout.pipeline));
    }
  }
  for (std::string& obstacle : obstacles_to_parts(config, layout.tensor)) {
    found.push_back(std::move(obstacle));
  }
  return found;
}

std::vector<StageCost> stages_of(const Layout& layout, const ModelConfig& config, const PlanBatch& shard,
                                 DType storage) {
  const StagePlan plan(config, layout.pipeline);
  std::vector<StageCost> stages;
  stages.reserve(static_cast<size_t>(layout.pipeline));
  for (int64_t i = 0; i < layout.pipeline; ++i) {
    const StageLayers layers = layers_of_stage(plan, config, i);
    const ModelCost cost = cost_of(config_of_stage(layout, config, layers), layers.ranges, shard, storage);
    const StageTables tables = tables_of_stage(layout, config, layers);
    const int64_t output = parameters_of(cost, "output");
    const int64_t of_layers = cost.parameters - parameters_of(cost, "embeddings") - output;
    const double output_flops = layers.is_last ? 0.0 : flops_of(cost, "output");
    const Sums sums = sums_of_stage(config, shard, layers);
    const double row_bytes = static_cast<double>(config.model * size_of(storage));
    stages.push_back(
        {.forward_flops = cost.forward_flops - output_flops,
         .backward_flops = cost.training_flops - cost.forward_flops - 2.0 * output_flops,
         .parameters = of_layers + tables.looked_up + (layers.is_last ? tables.of_output + output : 0),
         .parameters_last = std::max(tables.last, of_layers / std::max<int64_t>(1, layers.encoder + layers.decoder)),
         .peak_activations = cost.activation_bytes,
         .kept_activations = cost.kept_bytes,
         .tensor_sums = layout.tensor == 1 ? 0 : sums.count,
         .tensor_bytes = layout.tensor == 1 ? 0.0 : static_cast<double>(sums.rows) * row_bytes,
         .boundary_bytes = static_cast<double>(boundary_rows(plan, shard, i)) * row_bytes});
  }
  return stages;
}

}  // namespace heed
