// Llama and its kin: norms before sublayers by root mean square, rotary positions, a gated feed-forward layer.
//   Mistral sees a window of keys, and so do some layers of Qwen 2; Qwen 2 has biases of queries, keys and values; Qwen 3
//   normalizes each head of queries and keys; Phi-3 stores queries, keys and values in one matrix, gate and up in one;
//   SmolLM3 has layers without positions.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "interchange/huggingface/families/family.h"
#include "interchange/huggingface/families/rotary.h"
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
ForeignNames names_of(const std::array<ForeignTensor, count>& tensors, const FamilySource& source) {
  return {.tensors = {tensors.begin(), tensors.end()},
          .prefix = prefix_of(source, {"model.", "language_model.model.", ""}, "embed_tokens.weight"),
          .without_weight = {"rotary_emb.inv_freq"}};
}

// What Llama and Gemma share.
void exchange_sizes(ConfigFile& file, ModelConfig& config) {
  exchange_decoder(file, config);
  file.exchange("intermediate_size", config.inner);
  int64_t key_heads = config.heads_of_keys(0), width = config.width_of_head();
  file.exchange("num_key_value_heads", key_heads, config.heads);
  file.exchange("head_dim", width, 0);
  config.key_value_heads = file.is_written() ? config.key_value_heads : key_heads;
  config.head_width = file.is_written() ? config.head_width : width;
  file.exchange("rms_norm_eps", config.epsilon);
  file.exchange("attention_dropout", config.attention_dropout);
  file.exchange("initializer_range", config.init_deviation, 0.02);
  if (!file.is_written()) {
    config.norm = NormKind::rms;
    config.bias = Bias::none;
    config.gating = Gating::gated;
  }
}

// Biases of all four matrices of attention.
void exchange_attention_bias(ConfigFile& file, ModelConfig& config) {
  bool has_bias = config.bias_of_attention_inputs() == Bias::present;
  file.exchange("attention_bias", has_bias, false);
  if (!file.is_written() && has_bias) {
    config.attention_bias = AttentionBias::all;
  }
}

LayerPattern sees(int64_t window) {
  return {window > 0 ? HeadPattern{HeadPattern::Kind::local, window} : HeadPattern{}};
}

constexpr const char *kFullLayer = "full_attention", *kLocalLayer = "sliding_attention";

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
    require<FormatError>(type == kFullLayer || type == kLocalLayer, file.where(),
                         "\"layer_types\" has \"{}\", which heed lacks", type);
    local.push_back(type == kLocalLayer);
  }
  return local;
}

int64_t window_in(ConfigFile& file, std::optional<int64_t> absent = {}) {
  const int64_t window = file.integer("sliding_window", absent);
  require<FormatError>(window > 0, file.where(), "\"sliding_window\" is {}, expected above 0", window);
  return window;
}

void set_windows(ModelConfig& config, const std::vector<bool>& is_local, int64_t window) {
  config.attention.clear();
  for (const bool local : is_local) {
    config.attention.push_back(sees(local ? window : 0));
  }
}

// For writing: which layers see a window, and the first of these windows, or 0.
struct Windows {
  std::vector<bool> is_local;
  int64_t size = 0;

  explicit Windows(const ModelConfig& config) {
    for (const LayerPattern& pattern : config.patterns_in_use()) {
      const HeadPattern& part = pattern.front();
      is_local.push_back(part.kind == HeadPattern::Kind::local);
      size = size == 0 && is_local.back() ? part.size : size;
    }
  }
  // Whether exactly the layers for which rule(layer) holds see a window.
  template <class Rule>
  bool follow(Rule rule) const {
    for (size_t layer = 0; layer < is_local.size(); ++layer) {
      if (is_local[layer] != rule(static_cast<int64_t>(layer))) {
        return false;
      }
    }
    return true;
  }
  void write_types(ConfigFile& file) const {
    std::vector<std::string> types;
    for (const bool local : is_local) {
      types.emplace_back(local ? kLocalLayer : kFullLayer);
    }
    file.write("layer_types", types);
  }
};

// Mistral and Phi-3: all layers; Qwen: those after the first max_window_layers, SmolLM3: those without positions, both
// only if told so.
void read_windows(ConfigFile& file, std::string_view type, ModelConfig& config) {
  constexpr int64_t kWindowOfMistral = 4096;  // where the file does not say null
  const bool of_qwen = type.starts_with("qwen"), of_smollm = type == "smollm3";
  if (type == "mistral" && file.says_nothing_of("sliding_window")) {
    config.window = window_in(file, kWindowOfMistral);
    return;
  }
  if ((type != "mistral" && type != "phi3" && !of_qwen && !of_smollm) || !file.has("sliding_window") ||
      ((of_qwen || of_smollm) && !file.flag("use_sliding_window", false))) {
    file.pass_over({"sliding_window", "max_window_layers", "use_sliding_window", "layer_types"});
    return;
  }
  const int64_t window = window_in(file);
  if (!of_qwen && !of_smollm && !file.has("layer_types")) {
    config.window = window;
    return;
  }
  constexpr int64_t kFullLayersOfQwen = 28;
  const int64_t full = of_qwen ? file.integer("max_window_layers", kFullLayersOfQwen) : 0;
  const auto is_local = [&](int64_t layer) {
    return of_smollm ? config.positions == Positions::none || config.rotary_base.of(layer) == 0.0 : layer >= full;
  };
  set_windows(config, local_layers(file, config.decoder_layers, is_local), window);
}

void write_windows(ConfigFile& file, std::string_view type, const ModelConfig& config) {
  const bool of_qwen = type.starts_with("qwen"), of_smollm = type == "smollm3";
  if (type != "mistral" && type != "phi3" && !of_qwen && !of_smollm) {
    return;
  }
  const Windows windows(config);
  // For Mistral, a missing key means a window too.
  file.write("sliding_window", windows.size > 0 ? nlohmann::json(windows.size) : nlohmann::json());
  if (of_smollm) {
    file.write("use_sliding_window", windows.size > 0);
    windows.write_types(file);
    return;
  }
  const int64_t full = of_qwen ? std::ranges::find(windows.is_local, true) - windows.is_local.begin() : 0;
  if (of_qwen) {
    file.write("use_sliding_window", windows.size > 0);
    file.write("max_window_layers", full);
  }
  if (windows.size > 0 && !windows.follow([&](int64_t layer) { return layer >= full; })) {
    windows.write_types(file);
  }
}

// Layers without positions: each one's flag says whether it has them; without flags, each so many'th has none.
void exchange_layers_without_positions(ConfigFile& file, ModelConfig& config) {
  constexpr std::string_view kFlags = "no_rope_layers", kInterval = "no_rope_layer_interval";
  if (file.is_written()) {
    std::vector<int64_t> flags;
    for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
      flags.push_back(config.rotary_base.of(layer) > 0.0 ? 1 : 0);
    }
    file.write(kFlags, flags);
    return;
  }
  constexpr int64_t kUsualInterval = 4;
  const std::vector<int64_t> flags = file.integers(kFlags);
  const int64_t interval = file.integer(kInterval, kUsualInterval);
  require<FormatError>(flags.empty() || std::ssize(flags) == config.decoder_layers, file.where(),
                       "\"{}\" has {} entries for {} layers", kFlags, flags.size(), config.decoder_layers);
  require<FormatError>(interval > 0, file.where(), "\"{}\" is {}, expected above 0", kInterval, interval);
  std::vector<double> bases;
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    const bool turned = flags.empty() ? (layer + 1) % interval != 0 : flags[static_cast<size_t>(layer)] != 0;
    bases.push_back(turned ? config.rotary_base.of(0) : 0.0);
  }
  if (std::ranges::count(bases, 0.0) == std::ssize(bases)) {
    config.positions = Positions::none;
  } else if (std::ranges::count(bases, 0.0) > 0) {
    config.rotary_base = PerLayer<double>(bases);
  }
}

// The number whose inverse root is the scale: a whole one, if one gives the same scale.
double inverse_square(double scale) {
  const double exact = 1.0 / (scale * scale), rounded = std::round(exact);
  return 1.0 / std::sqrt(rounded) == scale ? rounded : exact;
}

// A cap; null means none.
void exchange_cap(ConfigFile& file, std::string_view key, double& cap) {
  if (file.is_written() && cap == 0.0) {
    file.write(key, nlohmann::json());
  } else {
    file.exchange(key, cap, 0.0);
  }
}

// In Gemma 2 each layer before a full one is local; in Gemma 3 five of six are, unless a file says otherwise.
std::vector<bool> exchange_gemma_windows(ConfigFile& file, std::string_view type, ModelConfig& config) {
  constexpr int64_t kPatternOfGemma2 = 2, kPatternOfGemma3 = 6;
  const bool is_second = type == "gemma2";
  const auto rule = [](int64_t period) { return [period](int64_t layer) { return (layer + 1) % period != 0; }; };
  if (!file.is_written()) {
    const int64_t period = is_second ? kPatternOfGemma2 : file.integer("sliding_window_pattern", kPatternOfGemma3);
    require<FormatError>(period >= 1, file.where(), "\"sliding_window_pattern\" is {}, expected at least 1", period);
    std::vector<bool> is_local = local_layers(file, config.decoder_layers, rule(period));
    set_windows(config, is_local, window_in(file));
    return is_local;
  }
  const Windows windows(config);
  file.write("sliding_window", windows.size);
  const auto first_full = std::ranges::find(windows.is_local, false) - windows.is_local.begin();
  const int64_t period = is_second ? kPatternOfGemma2 : first_full + 1;
  if (!is_second) {
    file.write("sliding_window_pattern", period);
  }
  if (!windows.follow(rule(period))) {
    windows.write_types(file);
  }
  return windows.is_local;
}

// What Gemma 2 and 3 have beyond Gemma 1's form.
void exchange_later_gemma(ConfigFile& file, std::string_view type, ModelConfig& config) {
  double scalar = config.attention_scale > 0.0 ? inverse_square(config.attention_scale)
                                               : static_cast<double>(config.width_of_head());
  file.exchange("query_pre_attn_scalar", scalar);
  if (!file.is_written()) {
    config.placement = NormPlacement::sandwich;
    config.attention_scale = 1.0 / std::sqrt(scalar);
  }
  exchange_cap(file, "attn_logit_softcapping", config.attention_cap);
  exchange_cap(file, "final_logit_softcapping", config.logit_cap);
  const std::vector<bool> is_local = exchange_gemma_windows(file, type, config);
  if (type == "gemma2") {
    exchange_rotary(file, config);
    return;
  }
  config.head_norm = file.is_written() ? config.head_norm : HeadNorm::each_head;
  exchange_rotary_by_layer(file, config, is_local);
  file.require_flag("use_bidirectional_attention", false, "and heed's decoders see no later token");
}

}  // namespace

ForeignNames exchange_llama(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  const std::string type = file.text("model_type");
  exchange_sizes(file, config);
  exchange_activation(file, "hidden_act", config.activation, "silu");
  exchange_rotary(file, config);
  if (type == "smollm3") {
    exchange_layers_without_positions(file, config);
  }
  if (type == "phi3" || !file.is_written()) {
    exchange_rotated_part(file, config, "partial_rotary_factor", 1.0);
  }
  if (type != "qwen2") {
    exchange_attention_bias(file, config);
  } else if (!file.is_written()) {
    config.attention_bias = AttentionBias::inputs;
  }
  bool inner_bias = config.bias_of_feed_forward() == Bias::present;
  if (type == "llama" || type == "smollm3" || !file.is_written()) {
    file.exchange("mlp_bias", inner_bias, false);
  }
  if (!file.is_written()) {
    config.feed_forward_bias = inner_bias ? PartBias::all : config.feed_forward_bias;
    config.head_norm = type == "qwen3" ? HeadNorm::each_head : config.head_norm;
    read_windows(file, type, config);
  } else {
    write_windows(file, type, config);
  }
  ForeignNames names = type == "phi3" ? names_of(kPhi3Names, source) : names_of(kLlamaNames, source);
  exchange_tying(source, config, "lm_head.weight", names.prefix + "embed_tokens.weight", type == "smollm3");
  return names;
}

ForeignNames exchange_gemma(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  const std::string type = file.text("model_type");
  exchange_sizes(file, config);
  // The first Gemma's files say "gelu" and mean the form by tanh, unless they have the newer key.
  if (file.is_written() || file.has("hidden_activation")) {
    exchange_activation(file, "hidden_activation", config.activation);
  } else {
    config.activation = Activation::gelu_tanh;
  }
  file.pass_over({"hidden_act"});
  if (!file.is_written()) {
    config.embedding_scale = EmbeddingScale::sqrt_model;
    config.norm_gain = NormGain::plus_one;
  }
  exchange_attention_bias(file, config);
  const bool is_first = type == "gemma";
  is_first ? exchange_rotary(file, config) : exchange_later_gemma(file, type, config);
  ForeignNames names = is_first ? names_of(kLlamaNames, source) : names_of(kGemma2Names, source);
  exchange_tying(source, config, "lm_head.weight", names.prefix + "embed_tokens.weight", true);
  return names;
}

}  // namespace heed
