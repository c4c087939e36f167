#include "models/stacks.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace heed {
namespace {

// An embedding that is scaled by sqrt(model) is initialized with 1 / sqrt(model), so that the result has deviation 1.
Initialization embedding_initialization(const ModelConfig& config) {
  switch (config.init) {
    case InitScheme::normal:
      return Initialization::normal(config.init_deviation);
    case InitScheme::xavier_all:
      return Initialization::xavier_uniform();
    case InitScheme::pytorch:
      return Initialization::normal(1.0);
    default:
      return Initialization::normal(1.0 / std::sqrt(static_cast<double>(config.model)));
  }
}

std::shared_ptr<const RelativePositions> relative_positions(const Scope& scope, const ModelConfig& config,
                                                            Visibility::Reach reach) {
  switch (config.positions) {
    case Positions::alibi:
      return std::make_shared<Alibi>(Heads(config.heads), reach, scope.parts());
    case Positions::relative_bias:
    case Positions::learned_relative_bias:
      return std::make_shared<BucketBias>(scope, Heads(config.heads),
                                          BucketRule{config.relative_buckets, config.relative_max_distance, reach},
                                          embedding_initialization(config));
    default:
      return nullptr;
  }
}

bool adds_table(const ModelConfig& config, Stack stack, int64_t table) {
  for (int64_t layer = 0; layer < config.layers_of(stack); ++layer) {
    if (config.value_embeddings.of(layer) == table) {
      return true;
    }
  }
  return false;
}

// One for each number in value_embeddings; nothing for those that only layers of the other stack have.
std::vector<const Weight*> value_tables(const Scope& scope, const ModelConfig& config, Stack stack) {
  const int64_t vocabulary = stack == Stack::encoder ? config.source_vocabulary : config.target_vocabulary;
  const int64_t width = config.heads_of_keys(0) * config.width_of_values();
  std::vector<const Weight*> tables;
  for (int64_t table = 1; table <= std::ranges::max(config.value_embeddings.values()); ++table) {
    tables.push_back(adds_table(config, stack, table)
                         ? &(scope / "value_embeddings")
                                .add(std::to_string(table), WeightRole::value_embedding, {vocabulary, width},
                                     WeightUse::table, embedding_initialization(config))
                         : nullptr);
  }
  return tables;
}

}  // namespace

NormShape norm_shape(const ModelConfig& config) {
  return {.width = config.model,
          .kind = config.norm,
          .bias = config.bias_of_norms(),
          .epsilon = config.epsilon,
          .gain = config.norm_gain};
}

// Each layer adds two branches (three in a decoder with cross-attention; the difference is not worth a setting).
MatrixInitialization matrix_initialization(const ModelConfig& config, int64_t layers) {
  using Kind = MatrixInitialization::Kind;
  switch (config.init) {
    case InitScheme::normal:
      return {Kind::normal, config.init_deviation, config.init_deviation / std::sqrt(2.0 * static_cast<double>(layers)),
              config.branch_init};
    case InitScheme::pytorch:
      return {.kind = Kind::inputs, .branches = config.branch_init};
    default:
      return {.branches = config.branch_init};
  }
}

std::vector<VisibilityByHead> visibility_of_layers(const ModelConfig& config, Stack stack) {
  std::vector<VisibilityByHead> layers;
  for (int64_t layer = 0; layer < config.layers_of(stack); ++layer) {
    layers.push_back(visibility_of(config.pattern_of(stack, layer), reach_of(stack)));
  }
  return layers;
}

std::vector<LayerOptions> options_of_layers(const ModelConfig& config, Stack stack,
                                            std::span<const Weight* const> value_tables) {
  std::vector<LayerOptions> layers;
  for (int64_t layer = 0; layer < config.layers_of(stack); ++layer) {
    const LayerPattern pattern = config.pattern_of(stack, layer);
    const int64_t table = config.value_embeddings.of(layer);
    layers.push_back({.kernel = is_linear(pattern) ? AttentionKernel::linear : AttentionKernel::softmax,
                      .visibility = visibility_of(pattern, reach_of(stack)),
                      .rotary = config.rotary(layer),
                      .key_value_heads = config.heads_of_keys(layer),
                      .inner = config.inner.of(layer),
                      .value_table = table == 0 ? nullptr : value_tables[static_cast<size_t>(table - 1)]});
  }
  return layers;
}

// What layers may differ in, `of_layers` says.
StackShape stack_shape(const Scope& scope, const ModelConfig& config, Stack stack) {
  const int64_t layers = config.layers_of(stack);
  const MatrixInitialization initialization = matrix_initialization(config, layers);
  return {
      .layers = layers,
      .attention = {.model = config.model,
                    .heads = config.heads,
                    .key_value_heads = config.heads,
                    .head_width = config.width_of_head(),
                    .value_width = config.width_of_values(),
                    .bias = config.bias_of_attention_inputs(),
                    .output_bias = config.bias_of_attention_output(),
                    .linear_feature = config.linear_feature,
                    .head_norm = config.head_norm,
                    .norm = norm_shape(config),
                    .relative = relative_positions(scope, config, reach_of(stack)),
                    .relative_clip = config.has_relative_keys() ? config.relative_clip : 0,
                    .relative_values = config.positions == Positions::relative_keys_values ? RelativeValues::present
                                                                                           : RelativeValues::none,
                    .scale = config.attention_scale,
                    .score_cap = {config.attention_cap},
                    .dropout = config.attention_dropout,
                    .initialization = initialization},
      .feed_forward = {.model = config.model,
                       .inner = config.inner.of(0),
                       .activation = config.activation,
                       .gating = config.gating,
                       .bias = config.bias_of_feed_forward(),
                       .dropout = config.inner_dropout,
                       .initialization = initialization},
      .of_layers = options_of_layers(config, stack, value_tables(scope, config, stack)),
      .residual = {.norm = norm_shape(config), .placement = config.placement, .dropout = config.branch_dropout},
      .branches = config.branches,
      .skips = config.skips,
      .final_norm = config.final_norm,
      .recompute = config.recompute,
      .shared = config.shared_layers,
      .autoregression = config.autoregression,
  };
}

Embedding::Options embedding_options(const ModelConfig& config, int64_t vocabulary, WeightUse use,
                                     const Weight* shared) {
  NormShape norm = norm_shape(config);
  const bool adds_after = config.architecture == Architecture::causal_lm && config.embedding_width > 0;
  norm.width = config.embedding_width > 0 && !adds_after ? config.embedding_width : config.model;
  const bool scaled = config.embedding_scale == EmbeddingScale::sqrt_model;
  return {
      .vocabulary = vocabulary,
      .model = config.model,
      .width = config.embedding_width,
      .added_at = adds_after ? AddedAt::width_of_model : AddedAt::width_of_tables,
      .positions = config.positions,
      .max_length = config.max_length,
      .sinusoid = config.sinusoid,
      .position_offset = config.position_offset,
      .token_types = config.token_types,
      .bigrams = config.bigrams,
      .scale = scaled ? std::sqrt(static_cast<double>(config.model)) : 1.0,
      .initialization = embedding_initialization(config),
      .norm = config.embedding_norm == EmbeddingNorm::present ? std::optional(norm) : std::nullopt,
      .projection = matrix_initialization(config, 1).inner(),
      .projection_bias = adds_after ? Bias::none : Bias::present,
      .dropout = config.embedding_dropout,
      .use = use,
      .shared = shared,
  };
}

WeightUse use_of_only_table(const ModelConfig& config) {
  return config.tying == Tying::none ? WeightUse::table : WeightUse::product_and_table;
}

}  // namespace heed
