// Llama and its kin: norms before sublayers by root mean square, rotary positions, a gated feed-forward layer.
//   Mistral sees a window of keys, and so do some layers of Qwen 2; Qwen 2 has biases of queries, keys and values; Qwen 3
//   normalizes each head of queries and keys; Phi-3 stores queries, keys and values in one matrix, gate and up in one.
#include <array>

#include "interchange/huggingface/family.h"
#include "interchange/huggingface/rotary.h"
#include "nn/head_pattern.h"

namespace heed {
namespace {

constexpr Sublayer kAttention = Sublayer::self_attention, kFeedForward = Sublayer::feed_forward;

constexpr std::array kLlamaNames{
    ForeignTensor{"{prefix}embed_tokens.weight", {WeightRole::token_embedding}},
    ForeignTensor{"lm_head.weight", {WeightRole::logits}},
    ForeignTensor{"{prefix}norm.weight", {WeightRole::final_norm}},
    ForeignTensor{"{prefix}layers.{layer}.input_layernorm.weight", {WeightRole::sublayer_norm}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.q_proj.{term}", {WeightRole::query}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.k_proj.{term}", {WeightRole::key}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.v_proj.{term}", {WeightRole::value}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.o_proj.{term}", {WeightRole::attention_output}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.q_norm.weight", {WeightRole::query_norm}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.k_norm.weight", {WeightRole::key_norm}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.post_attention_layernorm.weight", {WeightRole::sublayer_norm}, kFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.gate_proj.{term}", {WeightRole::gate}, kFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.up_proj.{term}", {WeightRole::up}, kFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.down_proj.{term}", {WeightRole::down}, kFeedForward},
};

constexpr std::array kPhi3Names{
    ForeignTensor{"{prefix}embed_tokens.weight", {WeightRole::token_embedding}},
    ForeignTensor{"lm_head.weight", {WeightRole::logits}},
    ForeignTensor{"{prefix}norm.weight", {WeightRole::final_norm}},
    ForeignTensor{"{prefix}layers.{layer}.input_layernorm.weight", {WeightRole::sublayer_norm}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.qkv_proj.{term}",
                  {WeightRole::query, WeightRole::key, WeightRole::value},
                  kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.o_proj.{term}", {WeightRole::attention_output}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.post_attention_layernorm.weight", {WeightRole::sublayer_norm}, kFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.gate_up_proj.{term}", {WeightRole::gate, WeightRole::up}, kFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.down_proj.{term}", {WeightRole::down}, kFeedForward},
};

// Gemma 2 and 3 normalize a sublayer's output, too; there the norm after attention is that of its output.
constexpr std::array kGemma2Names{
    ForeignTensor{"{prefix}embed_tokens.weight", {WeightRole::token_embedding}},
    ForeignTensor{"lm_head.weight", {WeightRole::logits}},
    ForeignTensor{"{prefix}norm.weight", {WeightRole::final_norm}},
    ForeignTensor{"{prefix}layers.{layer}.input_layernorm.weight", {WeightRole::sublayer_norm}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.q_proj.{term}", {WeightRole::query}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.k_proj.{term}", {WeightRole::key}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.v_proj.{term}", {WeightRole::value}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.o_proj.{term}", {WeightRole::attention_output}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.q_norm.weight", {WeightRole::query_norm}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.k_norm.weight", {WeightRole::key_norm}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.post_attention_layernorm.weight", {WeightRole::branch_norm}, kAttention},
    ForeignTensor{"{prefix}layers.{layer}.pre_feedforward_layernorm.weight", {WeightRole::sublayer_norm}, kFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.post_feedforward_layernorm.weight", {WeightRole::branch_norm}, kFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.gate_proj.{term}", {WeightRole::gate}, kFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.up_proj.{term}", {WeightRole::up}, kFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.down_proj.{term}", {WeightRole::down}, kFeedForward},
};

template <size_t count>
ForeignNames names_of(const std::array<ForeignTensor, count>& tensors, const TensorArchive& archive) {
  return {.tensors = {tensors.begin(), tensors.end()},
          .prefix = prefix_of(archive, {"model.", "language_model.model.", ""}, "embed_tokens.weight"),
          .without_weight = {"rotary_emb.inv_freq"}};
}

// What Llama and Gemma share.
ModelConfig sizes_of(ConfigFile& file) {
  ModelConfig config = decoder_config(file);
  config.inner = file.integer("intermediate_size");
  config.key_value_heads = file.integer("num_key_value_heads", config.heads);
  config.head_width = file.integer("head_dim", 0);
  config.norm = NormKind::rms;
  config.bias = Bias::none;
  config.epsilon = file.number("rms_norm_eps");
  config.gating = Gating::gated;
  config.attention_dropout = dropout_of(file, "attention_dropout");
  config.init_deviation = file.number("initializer_range", 0.02);
  return config;
}

LayerPattern sees(int64_t window) {
  return {window > 0 ? HeadPattern{HeadPattern::Kind::local, window} : HeadPattern{}};
}

// Which layers see a window alone: as "layer_types" says, or else as `otherwise` does.
template <class Rule>
std::vector<bool> local_layers(ConfigFile& file, int64_t layers, Rule otherwise) {
  const std::vector<std::string> types = file.texts("layer_types");
  require<FormatError>(types.empty() || std::ssize(types) == layers, file.where(),
                       "\"layer_types\" has {} entries for {} layers", types.size(), layers);
  std::vector<bool> local;
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (types.empty()) {
      local.push_back(otherwise(layer));
      continue;
    }
    const std::string& type = types[static_cast<size_t>(layer)];
    require<FormatError>(type == "full_attention" || type == "sliding_attention", file.where(),
                         "\"layer_types\" has \"{}\", which heed lacks", type);
    local.push_back(type == "sliding_attention");
  }
  return local;
}

int64_t window_in(ConfigFile& file) {
  const int64_t window = file.integer("sliding_window");
  require<FormatError>(window > 0, file.where(), "\"sliding_window\" is {}, expected above 0", window);
  return window;
}

void set_windows(ModelConfig& config, const std::vector<bool>& is_local, int64_t window) {
  config.attention.clear();
  for (const bool local : is_local) {
    config.attention.push_back(sees(local ? window : 0));
  }
}

// Mistral and Phi-3: all layers; Qwen: those after the first max_window_layers, and only if told so.
void read_windows(ConfigFile& file, std::string_view type, ModelConfig& config) {
  const bool of_qwen = type.starts_with("qwen");
  if ((type != "mistral" && type != "phi3" && !of_qwen) || !file.has("sliding_window") ||
      (of_qwen && !file.flag("use_sliding_window", false))) {
    file.pass_over({"sliding_window", "max_window_layers", "use_sliding_window", "layer_types"});
    return;
  }
  const int64_t window = window_in(file);
  if (!of_qwen && !file.has("layer_types")) {
    config.window = window;
    return;
  }
  constexpr int64_t kFullLayersOfQwen = 28;
  const int64_t full = of_qwen ? file.integer("max_window_layers", kFullLayersOfQwen) : 0;
  set_windows(config, local_layers(file, config.decoder_layers, [&](int64_t layer) { return layer >= full; }), window);
}

}  // namespace

FamilyModel read_llama(FamilySource& source) {
  ConfigFile& file = source.file;
  const std::string type = file.text("model_type");
  ModelConfig config = sizes_of(file);
  config.activation = activation_of(file, "hidden_act", "silu");
  read_rotary(file, config);
  read_rotated_part(file, config, "partial_rotary_factor", 1.0);
  if (type == "qwen2") {
    config.attention_bias = AttentionBias::inputs;
  } else if (file.flag("attention_bias", false)) {
    config.attention_bias = AttentionBias::all;
  }
  if (file.flag("mlp_bias", false)) {
    config.feed_forward_bias = PartBias::all;
  }
  if (type == "qwen3") {
    config.head_norm = HeadNorm::each_head;
  }
  read_windows(file, type, config);
  const ForeignNames names =
      type == "phi3" ? names_of(kPhi3Names, source.archive) : names_of(kLlamaNames, source.archive);
  config.tying = tying_of(source, "lm_head.weight", names.prefix + "embed_tokens.weight", false);
  return {config, names};
}

FamilyModel read_gemma(FamilySource& source) {
  ConfigFile& file = source.file;
  const std::string type = file.text("model_type");
  ModelConfig config = sizes_of(file);
  // The first Gemma's files say "gelu" and mean the form by tanh, unless they have the newer key.
  config.activation = Activation::gelu_tanh;
  if (file.has("hidden_activation")) {
    config.activation = activation_of(file, "hidden_activation");
  }
  file.pass_over({"hidden_act"});
  config.embedding_scale = EmbeddingScale::sqrt_model;
  config.norm_gain = NormGain::plus_one;
  if (file.flag("attention_bias", false)) {
    config.attention_bias = AttentionBias::all;
  }
  const bool is_first = type == "gemma";
  if (is_first) {
    read_rotary(file, config);
  } else {
    config.placement = NormPlacement::sandwich;
    config.attention_scale = 1.0 / std::sqrt(file.number("query_pre_attn_scalar"));
    config.attention_cap = file.number("attn_logit_softcapping", 0.0);
    config.logit_cap = file.number("final_logit_softcapping", 0.0);
    // In Gemma 2 each layer before a full one is local; in Gemma 3 five of six are.
    constexpr int64_t kPatternOfGemma2 = 2, kPatternOfGemma3 = 6;
    const bool is_second = type == "gemma2";
    const int64_t period = is_second ? kPatternOfGemma2 : file.integer("sliding_window_pattern", kPatternOfGemma3);
    require<FormatError>(period >= 1, file.where(), "\"sliding_window_pattern\" is {}, expected at least 1", period);
    const std::vector<bool> is_local =
        local_layers(file, config.decoder_layers, [&](int64_t layer) { return (layer + 1) % period != 0; });
    set_windows(config, is_local, window_in(file));
    if (is_second) {
      read_rotary(file, config);
    } else {
      config.head_norm = HeadNorm::each_head;
      read_rotary_by_layer(file, config, is_local);
      file.require_flag("use_bidirectional_attention", false, "and heed's decoders see no later token");
    }
  }
  const ForeignNames names = is_first ? names_of(kLlamaNames, source.archive) : names_of(kGemma2Names, source.archive);
  config.tying = tying_of(source, "lm_head.weight", names.prefix + "embed_tokens.weight", true);
  return {config, names};
}

}  // namespace heed
