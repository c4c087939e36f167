#include "train/recipe/continued_model.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "interchange/foreign_source.h"
#include "models/config_keys.h"

namespace heed {
namespace {

// Keys that change nothing about what the other model's weights mean.
constexpr std::array<std::string_view, 19> kFree{
    "source_vocabulary",
    "target_vocabulary",
    "init",
    "init_deviation",
    "embedding_dropout",
    "attention_dropout",
    "inner_dropout",
    "branch_dropout",
    "recompute_layers",
    "head",
    "head_layer",
    "head_layer_norm",
    "pooling",
    "labels",
    "text_pooling",
    "text_normalized",
    "text_width",
    "text_activation",
    "text_bias",
};

bool labels_texts(Head head) { return head == Head::one_label || head == Head::several_labels || head == Head::number; }

bool has_same_head(const ModelConfig& other, const ModelConfig& defaults) {
  return other.architecture == Architecture::encoder &&
         (other.head == defaults.head || (labels_texts(other.head) && labels_texts(defaults.head)));
}

void set_head(const ModelConfig& from, ModelConfig& model) {
  model.head = from.head;
  model.head_layer = from.head_layer;
  model.head_layer_norm = from.head_layer_norm;
  model.pooling = from.pooling;
  model.output_bias = from.output_bias;
  model.output_scale = from.output_scale;
  model.logit_cap = from.logit_cap;
  model.tying = from.tying;
}

// No task trains the layer that turns a pooled text into an embedding.
void set_text_layer(const ModelConfig& from, ModelConfig& model) {
  model.text_width = from.text_width;
  model.text_activation = from.text_activation;
  model.text_bias = from.text_bias;
}

// What only encoders have.
void set_encoders_own(const ModelConfig& from, ModelConfig& model) {
  set_head(from, model);
  set_text_layer(from, model);
  model.token_types = from.token_types;
  model.embedding_width = from.embedding_width;
  model.text_pooling = from.text_pooling;
  model.text_normalized = from.text_normalized;
}

// The stack that both have keeps its patterns.
void set_stacks(const ModelConfig& other, const ModelConfig& defaults, ModelConfig& model) {
  const Stack stack = other.has(Stack::encoder) && defaults.has(Stack::encoder) ? Stack::encoder : Stack::decoder;
  if (other.has(stack) && other.architecture == Architecture::seq2seq) {
    model.attention = other.patterns_of(stack);
  }
  model.encoder_attention = defaults.encoder_attention;
  model.decoder_attention = defaults.decoder_attention;
  model.autoregression = defaults.autoregression;
  model.encoder_layers = other.has(Stack::encoder) ? other.encoder_layers : defaults.encoder_layers;
  model.decoder_layers = other.has(Stack::decoder) ? other.decoder_layers : defaults.decoder_layers;
}

}  // namespace

ModelConfig continued_model(const ModelConfig& other, const ModelConfig& defaults) {
  ModelConfig model = other;
  model.architecture = defaults.architecture;
  model.recompute = defaults.recompute;
  model.source_vocabulary = model.target_vocabulary = 0;
  model.labels.clear();
  set_text_layer(defaults, model);
  if (other.architecture != defaults.architecture) {
    const Tying tying = other.tying;
    set_encoders_own(defaults, model);
    set_stacks(other, defaults, model);
    const bool may_be_tied = defaults.architecture != Architecture::encoder || defaults.head == Head::tokens;
    model.tying = tying == Tying::none || !may_be_tied ? Tying::none : Tying::output;
  } else if (other.architecture == Architecture::encoder && !has_same_head(other, defaults)) {
    set_head(defaults, model);
  }
  return model;
}

void require_form_of(const ModelFolder& other, const ModelConfig& continued, const ModelConfig& model,
                     std::string_view recipe) {
  if (!is_foreign_model(other.path)) {
    return;
  }
  ModelConfig there = continued, here = model;
  const SettingTable left = model_settings(there), right = model_settings(here);
  // The number of rows of a table of positions, or a length that rotations are scaled by.
  const bool length_counts = are_learned(there.positions) || there.rotary_scaling != RotaryScaling::none;
  for (size_t i = 0; i < left.settings.size(); ++i) {
    const Setting &a = left.settings[i], &b = right.settings[i];
    const bool is_free = std::ranges::count(kFree, a.name) > 0 || (a.name == "max_length" && !length_counts);
    require<ConfigError>(is_free || a.show() == b.show(), recipe,
                         "model.{} is {}, but the model in {} has {} (training.from): leave the key out", a.name,
                         b.show(), other.path.string(), a.show());
  }
}

}  // namespace heed
