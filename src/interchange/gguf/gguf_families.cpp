// What llama.cpp computes for each architecture, with the values that it takes for absent keys. Its converter adds 1 to
// the gains of Gemma's norms, so that they are plain gains here; and for "llama" it reorders the rows of queries and
// keys so that columns that are rotated together are neighbours.
#include "interchange/gguf/gguf_families.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/excerpt.h"
#include "interchange/forms/gpt2_form.h"
#include "interchange/forms/kin_forms.h"
#include "interchange/forms/llama_form.h"
#include "interchange/gguf/gguf_rotary.h"
#include "nn/head_pattern.h"

namespace heed {
namespace {

constexpr std::string_view kTokenTable = "token_embd.weight", kProjection = "output.weight";

// The exporter's names, for reading. A table of embeddings is read as it is: where heed's export multiplied it, it
// keeps the factor.
ForeignNames names_from(ForeignNames names, Tying tying) {
  for (ForeignTensor& tensor : names.tensors) {
    if (tensor.roles.front() == WeightRole::token_embedding) {
      tensor.form = ForeignForm::same;
      if (tying == Tying::output) {
        tensor.copies = {kProjection};
      }
    }
  }
  names.without_weight = {kRotaryFactors, ".attn_rot_embd.weight"};
  return names;
}

// A projection that is the table of embeddings need not be stored.
Tying tying_in(const TensorArchive& archive) {
  const ArchiveTensor *const own = archive.find(kProjection), &table = archive.at(kTokenTable);
  const bool same = own == nullptr || (own->type == table.type && own->shape == table.shape &&
                                       std::ranges::equal(own->bytes, table.bytes));
  return same ? Tying::output : Tying::none;
}

// Settings that would change the result of any of these architectures, unless they have the value that changes nothing.
void require_plain(GgufSettings& settings) {
  for (const std::string_view key :
       {"expert_count", "expert_used_count", "use_parallel_residual", "attention.max_alibi_bias", "attention.clamp_kqv",
        "rope.scaling.yarn_log_multiplier", "nextn_predict_layers", "swin_norm", "attention.shared_kv_layers",
        "deepstack_layers"}) {
    settings.require_neutral(key, 0.0);
  }
  for (const std::string_view key :
       {"attention.causal", "residual_scale", "embedding_scale", "logit_scale", "attention.temperature_scale"}) {
    settings.require_neutral(key, 1.0);
  }
  settings.require_neutral("attention.scale", 0.0);
}

ModelConfig decoder_sizes(GgufSettings& settings, const TensorArchive& archive) {
  require_plain(settings);
  ModelConfig config{.architecture = Architecture::causal_lm};
  config.embedding_scale = EmbeddingScale::none;
  config.embedding_dropout = config.attention_dropout = config.inner_dropout = config.branch_dropout =
      Probability(0.0F);
  config.init = InitScheme::normal;
  config.output_bias = Bias::none;
  config.model = settings.size("embedding_length");
  config.decoder_layers = settings.size("block_count");
  constexpr int64_t kLeastTensorsPerLayer = 4;
  const int64_t tensors = std::ssize(archive.tensors());
  require<FormatError>(config.decoder_layers <= tensors / kLeastTensorsPerLayer, settings.where(),
                       "'{}' is {}, but the file has {} tensors", settings.full("block_count"), config.decoder_layers,
                       tensors);
  config.max_length = settings.size("context_length");
  config.heads = settings.size("attention.head_count");
  config.inner = settings.sizes("feed_forward_length", config.decoder_layers);
  const ArchiveTensor& table = archive.at(kTokenTable);
  require<FormatError>(table.shape.size() == 2, settings.where(), "{}, expected a row for each token", table.text());
  config.target_vocabulary = table.shape.front();
  const int64_t vocabulary = settings.size("vocab_size", config.target_vocabulary);
  require<FormatError>(vocabulary == config.target_vocabulary, settings.where(), "'{}' is {}, but there is {}",
                       settings.full("vocab_size"), vocabulary, table.text());
  config.tying = tying_in(archive);
  return config;
}

// What Llama and its kin share.
ModelConfig gated_decoder(GgufSettings& settings, const TensorArchive& archive) {
  ModelConfig config = decoder_sizes(settings, archive);
  config.key_value_heads = settings.sizes("attention.head_count_kv", config.decoder_layers, config.heads);
  require<FormatError>(config.heads <= config.model, settings.where(), "{} heads in an embedding of {}", config.heads,
                       config.model);
  const int64_t usual = config.model / config.heads;
  config.head_width = settings.size("attention.key_length", usual);
  const int64_t of_values = settings.size("attention.value_length", usual);
  config.value_width = of_values == config.head_width ? 0 : of_values;
  config.norm = NormKind::rms;
  config.bias = Bias::none;
  config.gating = Gating::gated;
  config.activation = Activation::silu;
  config.epsilon = settings.number("attention.layer_norm_rms_epsilon");
  return config;
}

// Biases are in every layer or in none.
PartBias bias_in(const TensorArchive& archive, std::string_view part) {
  return archive.find(fmt::format("blk.0.{}.bias", part)) == nullptr ? PartBias::none : PartBias::all;
}

int64_t window_of(GgufSettings& settings) { return settings.size("attention.sliding_window"); }

GgufFamilyModel read_llama_file(GgufSettings& settings, const TensorArchive& archive) {
  ModelConfig config = gated_decoder(settings, archive);
  read_gguf_rotary(settings, archive, config);
  if (bias_in(archive, "attn_q") == PartBias::all) {
    const bool also_output = bias_in(archive, "attn_output") == PartBias::all;
    config.attention_bias = also_output ? AttentionBias::all : AttentionBias::inputs;
  }
  config.feed_forward_bias = bias_in(archive, "ffn_down") == PartBias::all ? PartBias::all : PartBias::as_model;
  // Mistral's window; 0 stands for none. llama.cpp itself ignores it.
  if (settings.integer("attention.sliding_window", 0) != 0) {
    config.window = window_of(settings);
  }
  return {config, names_from(llama_names(), config.tying)};
}

GgufFamilyModel read_qwen_file(GgufSettings& settings, const TensorArchive& archive) {
  ModelConfig config = gated_decoder(settings, archive);
  read_gguf_rotary(settings, archive, config);
  if (settings.architecture() == "qwen2") {
    config.attention_bias = AttentionBias::inputs;
  } else {
    config.head_norm = HeadNorm::each_head;
  }
  return {config, names_from(kin_names(KinForm::qwen2), config.tying)};
}

// Scores are divided by the root of a head's width, but in the largest models by the root of width / heads of the
// model.
void read_gemma_scale(const GgufSettings& settings, ModelConfig& config) {
  constexpr int64_t kLayersOfLargestGemma2 = 46, kLayersOfLargestGemma3 = 62;
  const bool is_second = settings.architecture() == "gemma2";
  if (config.decoder_layers == (is_second ? kLayersOfLargestGemma2 : kLayersOfLargestGemma3)) {
    const int64_t share = config.model / config.heads;
    config.attention_scale = 1.0 / std::sqrt(static_cast<double>(share));
  }
}

// Which layers see only a window: all but the last of each period.
std::vector<bool> local_layers_of(int64_t layers, int64_t period) {
  std::vector<bool> local;
  for (int64_t layer = 0; layer < layers; ++layer) {
    local.push_back((layer + 1) % period != 0);
  }
  return local;
}

void read_gemma_windows(GgufSettings& settings, const TensorArchive& archive, ModelConfig& config) {
  constexpr int64_t kPatternOfGemma2 = 2, kPatternOfGemma3 = 6;
  constexpr double kLocalBase = 10000.0;
  const bool is_second = settings.architecture() == "gemma2";
  const int64_t period =
      settings.size("attention.sliding_window_pattern", is_second ? kPatternOfGemma2 : kPatternOfGemma3);
  const std::vector<bool> local = local_layers_of(config.decoder_layers, period);
  const int64_t window = window_of(settings);
  config.attention.clear();
  for (const bool is_local : local) {
    config.attention.push_back(
        {is_local ? HeadPattern{HeadPattern::Kind::local, window} : HeadPattern{HeadPattern::Kind::full, 0}});
  }
  read_gguf_rotary(settings, archive, config);
  if (is_second) {
    return;
  }
  const double local_base = settings.number("rope.freq_base_swa", kLocalBase);
  require<FormatError>(local_base > 0.0, settings.where(), "'{}' is {}, expected above 0",
                       settings.full("rope.freq_base_swa"), local_base);
  std::vector<double> bases, factors;
  for (const bool is_local : local) {
    bases.push_back(is_local ? local_base : config.rotary_base.of(0));
    factors.push_back(is_local ? 1.0 : config.rotary_factor.of(0));
  }
  require<FormatError>(config.rotary_scaling == RotaryScaling::none || config.rotary_scaling == RotaryScaling::linear,
                       settings.where(), "'{}' is not linear, which heed lacks beside windowed layers",
                       settings.full("rope.scaling.type"));
  config.rotary_base = PerLayer<double>(bases);
  config.rotary_factor = PerLayer<double>(factors);
}

GgufFamilyModel read_gemma_file(GgufSettings& settings, const TensorArchive& archive) {
  ModelConfig config = gated_decoder(settings, archive);
  config.activation = Activation::gelu_tanh;
  config.embedding_scale = EmbeddingScale::sqrt_model;
  if (settings.architecture() == "gemma") {
    read_gguf_rotary(settings, archive, config);
    return {config, names_from(kin_names(KinForm::gemma), config.tying)};
  }
  const bool is_second = settings.architecture() == "gemma2";
  config.placement = NormPlacement::sandwich;
  config.attention_cap = settings.number("attn_logit_softcapping", is_second ? 50.0 : 0.0);
  config.logit_cap = settings.number("final_logit_softcapping", is_second ? 30.0 : 0.0);
  if (!is_second) {
    config.head_norm = HeadNorm::each_head;
  }
  read_gemma_scale(settings, config);
  read_gemma_windows(settings, archive, config);
  return {config, names_from(kin_names(KinForm::gemma), config.tying)};
}

GgufFamilyModel read_gpt2_file(GgufSettings& settings, const TensorArchive& archive) {
  ModelConfig config = decoder_sizes(settings, archive);
  config.positions = Positions::learned;
  config.activation = Activation::gelu_tanh;
  config.epsilon = settings.number("attention.layer_norm_epsilon");
  return {config, names_from(gpt2_names(), config.tying)};
}

constexpr std::array kGgufFamilies{
    GgufFamily{"llama", "Llama", read_llama_file},    GgufFamily{"qwen2", "Qwen 2", read_qwen_file},
    GgufFamily{"qwen3", "Qwen 3", read_qwen_file},    GgufFamily{"gemma", "Gemma", read_gemma_file},
    GgufFamily{"gemma2", "Gemma 2", read_gemma_file}, GgufFamily{"gemma3", "Gemma 3", read_gemma_file},
    GgufFamily{"gpt2", "GPT-2", read_gpt2_file},
};

}  // namespace

const GgufFamily& gguf_family_of(const GgufSettings& settings) {
  const auto* const found = std::ranges::find(kGgufFamilies, settings.architecture(), &GgufFamily::architecture);
  std::vector<std::string_view> known;
  std::ranges::transform(kGgufFamilies, std::back_inserter(known), &GgufFamily::architecture);
  require<FormatError>(found != kGgufFamilies.end(), settings.where(),
                       "'general.architecture' is '{}', which heed does not read; it reads {}",
                       shown(settings.architecture()), fmt::join(known, ", "));
  return *found;
}

}  // namespace heed
