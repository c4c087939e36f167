// The configuration of a model: read from a recipe, checked, and built from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heed/types/reading/labels.h"
#include "models/per_layer.h"
#include "nn/embedding.h"
#include "nn/head_pattern.h"
#include "nn/layers.h"

namespace heed {

enum class Architecture : uint8_t { seq2seq, causal_lm, encoder };
enum class Tying : uint8_t { none, output, all };  // output: with the target embedding; all: source embedding too
enum class EmbeddingScale : uint8_t { none, sqrt_model };
enum class EmbeddingNorm : uint8_t { none, present };
// What an encoder's output becomes: scores of each token of the vocabulary, one label for a text, several labels, a
// number, or a label for each token; or nothing, in a model that makes embeddings alone.
enum class Head : uint8_t { tokens, one_label, several_labels, number, token_labels, none };
enum class HeadLayerNorm : uint8_t { none, present };
// Which parts of a layer have biases: those that ModelConfig::bias says, or these.
enum class AttentionBias : uint8_t { as_model, none, inputs, all };  // inputs: of queries, keys and values alone
enum class PartBias : uint8_t { as_model, none, all };
// xavier_all: embeddings too; pytorch: what that framework's layers begin with.
enum class InitScheme : uint8_t { xavier, xavier_all, normal, pytorch };

struct ModelConfig {
  Architecture architecture = Architecture::seq2seq;
  int64_t model = 512;
  PerLayer<int64_t> inner = 2048;
  int64_t heads = 8;
  PerLayer<int64_t> key_value_heads = 0;  // 0: as many as heads
  int64_t head_width = 0;                 // 0: model / heads
  int64_t value_width = 0;                // of a head's values; 0: as head_width
  int64_t encoder_layers = 6, decoder_layers = 6;
  int64_t source_vocabulary = 0, target_vocabulary = 0;  // an encoder has only a source, a causal-lm only a target
  int64_t max_length = 1024;                             // of a sequence that the model takes

  Activation activation = Activation::relu;
  Gating gating = Gating::plain;
  Positions positions = Positions::sinusoidal;
  SinusoidLayout sinusoid = SinusoidLayout::interleaved;  // of sinusoidal positions
  int64_t position_offset = 0;  // the number of the first position, where sinusoids or rows of a table are added
  PerLayer<double> rotary_base = 10000.0;  // 0: a layer without positions
  int64_t rotary_width = 0;                // columns of each head that are turned; 0: all
  RotaryScaling rotary_scaling = RotaryScaling::none;
  PerLayer<double> rotary_factor = 1.0;                        // of the scaling
  int64_t rotary_trained_length = 0;                           // 0: max_length / rotary_factor
  double rotary_slow_turns = 0.0, rotary_fast_turns = 0.0;     // of yarn and llama3; see RotaryScale
  double rotary_magnitude = 0.0;                               // 0: as the scaling has it
  int64_t relative_buckets = 32, relative_max_distance = 128;  // of Positions::relative_bias; see BucketRule
  int64_t relative_clip = 16;                                  // of relative keys and values
  int64_t window = 0;                                          // local attention in all layers; 0: as `attention` says
  std::vector<LayerPattern> attention{{{}}};                   // of self-attention, one pattern per layer, repeated
  std::vector<LayerPattern> encoder_attention, decoder_attention;  // of one stack alone; empty: as `attention` says
  Autoregression autoregression = Autoregression::attention;       // of an encoder-decoder's decoder
  // The number of the table, from 1, whose rows a layer adds to the values of its tokens; 0: none.
  PerLayer<int64_t> value_embeddings = 0;
  LinearFeature linear_feature = LinearFeature::elu;  // of "linear" layers

  NormKind norm = NormKind::layer;
  NormGain norm_gain = NormGain::plain;
  NormPlacement placement = NormPlacement::pre;
  Branches branches = Branches::sequential;
  Skips skips = Skips::none;
  FinalNorm final_norm = FinalNorm::present;
  EmbeddingNorm embedding_norm = EmbeddingNorm::none;
  HeadNorm head_norm = HeadNorm::none;  // of queries and keys
  double epsilon = 1e-5;
  Bias bias = Bias::present;
  AttentionBias attention_bias = AttentionBias::as_model;
  PartBias feed_forward_bias = PartBias::as_model, norm_bias = PartBias::as_model;
  Bias output_bias = Bias::present;
  double logit_cap = 0.0, attention_cap = 0.0;  // of logits and of attention's scores; 0: none
  double attention_scale = 0.0;                 // what scores are multiplied by; 0: 1 / sqrt(head width)
  double output_scale = 1.0;                    // what an output projection's input is multiplied by
  Tying tying = Tying::none;
  EmbeddingScale embedding_scale = EmbeddingScale::sqrt_model;
  // The width of embeddings, which are projected to `model`; 0: as that. An encoder's positions, types and their norm
  // have this width, too. A decoder adds learned positions after the projection, and its output is projected back before
  // the vocabulary; neither projection has a bias.
  int64_t embedding_width = 0;
  int64_t bigrams = 0;  // rows of a language model's table for each token and the one before it; 0: there is none
  SharedLayers shared_layers = SharedLayers::no;
  InitScheme init = InitScheme::xavier;
  double init_deviation = 0.02;  // of InitScheme::normal
  BranchStart branch_init = BranchStart::random;

  Probability embedding_dropout{0.1F}, attention_dropout{0.1F}, inner_dropout{0.1F}, branch_dropout{0.1F};
  Recompute recompute = Recompute::nothing;

  int64_t token_types = 0;  // of an encoder; 0: tokens have none
  Head head = Head::tokens;
  std::optional<Activation> head_layer;  // of a linear layer before the head; none: there is no such layer
  HeadLayerNorm head_layer_norm = HeadLayerNorm::none;
  Pooling pooling = Pooling::first;  // what a text's label is read from
  std::vector<std::string> labels;   // those that the head scores

  // How an encoder's text becomes an embedding: pooled, perhaps through a linear layer, perhaps scaled to length 1.
  Pooling text_pooling = Pooling::mean;
  int64_t text_width = 0;  // of the linear layer's output; 0: there is none
  Activation text_activation = Activation::none;
  Bias text_bias = Bias::present;
  Normalized text_normalized = Normalized::no;

  int64_t width_of_values() const { return value_width > 0 ? value_width : width_of_head(); }
  int64_t width_of_head() const { return head_width > 0 ? head_width : model / heads; }
  bool has(Stack stack) const {
    return architecture == Architecture::seq2seq ||
           (architecture == Architecture::encoder) == (stack == Stack::encoder);
  }
  // 0 if the architecture doesn't have the stack.
  int64_t layers_of(Stack stack) const {
    return !has(stack) ? 0 : stack == Stack::encoder ? encoder_layers : decoder_layers;
  }
  int64_t layers_of_deepest_stack() const { return std::max(layers_of(Stack::encoder), layers_of(Stack::decoder)); }
  std::vector<LayerPattern> patterns_of(Stack stack) const;  // as a recipe would give them, repeated over the layers
  LayerPattern pattern_of(Stack stack, int64_t layer) const;
  // Whether the head's outputs are labels that have names.
  bool has_labels() const { return head != Head::tokens && head != Head::number && head != Head::none; }
  // Those of all layers of the architecture's stacks.
  std::vector<LayerPattern> patterns_in_use() const;
  // How many of the latest tokens' keys and values decoding needs, at most; 0: those of all tokens.
  int64_t cached_window() const;
  std::vector<int64_t> linear_layers_of_decoder() const;
  bool has_value_embeddings() const;  // any layer
  int64_t heads_of_keys(int64_t layer) const {
    const int64_t own = key_value_heads.of(layer);
    return own > 0 ? own : heads;
  }
  int64_t most_heads_of_keys(int64_t layers) const;  // of the first layers of a stack
  std::string key_heads_text() const;                // the heads of keys, for people

  // Scores that an encoder gives to a token or a text.
  int64_t encoder_outputs() const {
    return head == Head::tokens   ? source_vocabulary
           : head == Head::none   ? 0
           : head == Head::number ? 1
                                  : static_cast<int64_t>(labels.size());
  }
  // The width of the head layer's output: that of the tables where these give scores of tokens.
  int64_t width_of_head_layer() const { return head == Head::tokens && embedding_width > 0 ? embedding_width : model; }
  Bias bias_of_attention_inputs() const;
  Bias bias_of_attention_output() const;
  Bias bias_of_feed_forward() const { return bias_of(feed_forward_bias); }
  Bias bias_of_norms() const { return bias_of(norm_bias); }
  bool is_recurrent() const { return autoregression == Autoregression::ssru; }
  bool has_relative_bias() const {
    return positions == Positions::relative_bias || positions == Positions::learned_relative_bias;
  }
  bool has_relative_keys() const {
    return positions == Positions::relative_keys || positions == Positions::relative_keys_values;
  }
  Rotary rotary(int64_t layer) const;  // its dims are 0 in a layer without rotary positions

  // Throws ConfigError, with a message that a user can act on: "heads 7 does not divide model 512".
  void validate() const;

 private:
  Bias bias_of(PartBias part) const {
    return part == PartBias::as_model ? bias : part == PartBias::all ? Bias::present : Bias::none;
  }
};

// ConfigError for a setting with another value than its default that nothing in this model reads. For recipes of new
// runs: what older versions wrote may have such values.
void refuse_settings_without_effect(const ModelConfig& config);

// Why the matrices of the model can't be divided into `parts` parts; none if they can.
std::vector<std::string> obstacles_to_parts(const ModelConfig& config, int64_t parts);
// ConfigError with the first of them.
void require_divisible(const ModelConfig& config, int64_t parts);

// The same model, run with sequences of up to options.max_length tokens. ConfigError, naming `where`, when it can't be.
ModelConfig with_context(const ModelConfig& config, const ContextOptions& options, std::string_view where = "context");

// The keys of [model] with their values, one per line, as a recipe would give them.
std::string describe(const ModelConfig& config);

}  // namespace heed
