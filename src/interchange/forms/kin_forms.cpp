#include "interchange/forms/kin_forms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "interchange/forms/form_needs.h"
#include "interchange/forms/llama_form.h"
#include "interchange/gguf/gguf_rotary.h"

namespace heed {
namespace {

struct KinRow {
  KinForm form;
  std::string_view name, shown;
  int64_t layers_of_largest;  // whose scores are divided by another root; 0: none
};
constexpr std::array kKin{
    KinRow{KinForm::qwen2, "qwen2", "Qwen 2", 0},     KinRow{KinForm::qwen3, "qwen3", "Qwen 3", 0},
    KinRow{KinForm::gemma, "gemma", "Gemma", 0},      KinRow{KinForm::gemma2, "gemma2", "Gemma 2", 46},
    KinRow{KinForm::gemma3, "gemma3", "Gemma 3", 62},
};
const KinRow& row_of_kin(KinForm form) { return *std::ranges::find(kKin, form, &KinRow::form); }

// The rotary base that llama.cpp takes for layers of Gemma 3 that see only a window.
constexpr double kBaseOfLocalLayers = 10000.0;
constexpr int64_t kUsualPeriod = 6;

constexpr Sublayer kKinAttention = Sublayer::self_attention, kKinFeedForward = Sublayer::feed_forward;
constexpr std::array kKinNorms{
    ForeignTensor{"blk.{layer}.attn_q_norm.{term}", {WeightRole::query_norm}, kKinAttention},
    ForeignTensor{"blk.{layer}.attn_k_norm.{term}", {WeightRole::key_norm}, kKinAttention},
    ForeignTensor{"blk.{layer}.post_attention_norm.{term}", {WeightRole::branch_norm}, kKinAttention},
    ForeignTensor{"blk.{layer}.post_ffw_norm.{term}", {WeightRole::branch_norm}, kKinFeedForward},
};

bool is_gemma(KinForm form) { return form >= KinForm::gemma; }
bool has_windows(KinForm form) { return form >= KinForm::gemma2; }

// The window of a layer's heads; 0: they see everything, none: they differ, or see something else.
std::optional<int64_t> window_of_layer(const ModelConfig& c, int64_t layer) {
  const LayerPattern pattern = c.pattern_of(Stack::decoder, layer);
  if (pattern.size() != 1 ||
      (pattern.front().kind != HeadPattern::Kind::full && pattern.front().kind != HeadPattern::Kind::local)) {
    return std::nullopt;
  }
  return pattern.front().kind == HeadPattern::Kind::full ? 0 : pattern.front().size;
}

struct KinWindows {
  int64_t size, period;  // all layers but the last of each period have one
};

std::optional<KinWindows> windows_of(KinForm form, const ModelConfig& c) {
  const auto fits = [&](const KinWindows& windows) {
    for (int64_t layer = 0; layer < c.decoder_layers; ++layer) {
      const int64_t expected = (layer + 1) % windows.period == 0 ? 0 : windows.size;
      if (window_of_layer(c, layer) != expected) {
        return false;
      }
    }
    return true;
  };
  const KinWindows usual{std::max<int64_t>(1, window_of_layer(c, 0).value_or(0)),
                         form == KinForm::gemma2 ? 2 : kUsualPeriod};
  if (fits(usual) || form == KinForm::gemma2) {
    return fits(usual) ? std::optional(usual) : std::nullopt;
  }
  for (int64_t period = 1; period <= c.decoder_layers; ++period) {
    if (const KinWindows windows{usual.size, period}; fits(windows)) {
      return windows;
    }
  }
  return std::nullopt;
}

bool is_local(const ModelConfig& c, int64_t layer) { return window_of_layer(c, layer).value_or(0) > 0; }

// Whether layers with a window have the value `of_local`, and all others share one value.
bool is_split(const ModelConfig& c, const PerLayer<double>& setting, double of_local) {
  std::optional<double> of_full;
  for (int64_t layer = 0; layer < c.decoder_layers; ++layer) {
    if (is_local(c, layer)) {
      if (setting.of(layer) != of_local) {
        return false;
      }
    } else if (setting.of(layer) != of_full.value_or(setting.of(layer))) {
      return false;
    } else {
      of_full = setting.of(layer);
    }
  }
  return true;
}

// The value of the layers that see everything; where there are none, that of the first layer.
double value_of_full(const ModelConfig& c, const PerLayer<double>& setting) {
  for (int64_t layer = 0; layer < c.decoder_layers; ++layer) {
    if (!is_local(c, layer)) {
      return setting.of(layer);
    }
  }
  return setting.of(0);
}

// Whether scores are scaled as llama.cpp scales them.
bool has_scale_of(KinForm form, const ModelConfig& c) {
  const bool is_largest = c.decoder_layers == row_of_kin(form).layers_of_largest;
  const int64_t width = is_largest ? c.model / c.heads : c.width_of_head();
  const double expected = 1.0 / std::sqrt(static_cast<double>(width));
  const double own =
      c.attention_scale > 0.0 ? c.attention_scale : 1.0 / std::sqrt(static_cast<double>(c.width_of_head()));
  return std::abs(own - expected) <= 1e-7 * expected;
}

std::vector<std::string_view> freed_by(KinForm form) {
  std::vector<std::string_view> freed;
  if (form == KinForm::qwen3 || form == KinForm::gemma3) {
    freed.emplace_back("qk_norm");
  }
  if (is_gemma(form)) {
    freed.emplace_back("norm_gain");
  }
  if (has_windows(form)) {
    freed.insert(freed.end(), {"norm_placement", "window", "attention", "attention_scale"});
  }
  if (form == KinForm::gemma2) {
    freed.insert(freed.end(), {"logit_cap", "attention_cap"});
  }
  if (form == KinForm::gemma3) {
    freed.insert(freed.end(), {"rotary_base", "rotary_factor"});
  }
  return freed;
}

void add_windowed_needs(KinForm form, const ModelConfig& c, std::vector<FormNeed>& needs) {
  needs.push_back({"norm_placement", c.placement == NormPlacement::sandwich, R"("sandwich")"});
  needs.push_back({"attention", windows_of(form, c).has_value(), "a window in all layers but each second or sixth"});
  needs.push_back({"attention_scale", has_scale_of(form, c), "the inverse root of a head's width"});
  if (form == KinForm::gemma2) {
    needs.push_back({"logit_cap", c.logit_cap > 0.0, "above 0"});
    needs.push_back({"attention_cap", c.attention_cap > 0.0, "above 0"});
  } else {
    needs.push_back({"rotary_base", is_split(c, c.rotary_base, kBaseOfLocalLayers), "10000 in layers with a window"});
    needs.push_back({"rotary_factor", is_split(c, c.rotary_factor, 1.0), "1 in layers with a window"});
  }
}

std::vector<FormNeed> kin_needs(KinForm form, const ModelConfig& c) {
  const bool has_qwen_biases =
      c.bias_of_attention_inputs() == Bias::present && c.bias_of_attention_output() == Bias::none;
  const bool has_none = c.bias_of_attention_inputs() == Bias::none && c.bias_of_attention_output() == Bias::none;
  const Activation activation = is_gemma(form) ? Activation::gelu_tanh : Activation::silu;
  std::vector<FormNeed> needs{
      {"norm", c.norm == NormKind::rms, R"("rms")"},
      {"positions", c.positions == Positions::rotary, R"("rotary")"},
      {"rotary_width", c.rotary_width == 0 || c.rotary_width == c.width_of_head(), "0"},
      {"rotary_scaling",
       c.rotary_scaling == RotaryScaling::none || c.rotary_scaling == RotaryScaling::linear ||
           (c.rotary_scaling == RotaryScaling::yarn && !has_windows(form)),
       has_windows(form) ? R"("none" or "linear")" : R"("none", "linear" or "yarn")"},
      {"activation", c.activation == activation, is_gemma(form) ? R"("gelu-tanh")" : R"("silu")"},
      {"gated", c.gating == Gating::gated, "true"},
      {"attention_bias", form == KinForm::qwen2 ? has_qwen_biases : has_none,
       form == KinForm::qwen2 ? R"("inputs")" : R"("none")"},
      {"feed_forward_bias", c.bias_of_feed_forward() == Bias::none, R"("none")"},
  };
  if (is_gemma(form)) {
    needs.push_back({"embedding_scale", c.embedding_scale == EmbeddingScale::sqrt_model, R"("sqrt-model")"});
  }
  if (form == KinForm::qwen3 || form == KinForm::gemma3) {
    needs.push_back({"qk_norm", c.head_norm == HeadNorm::each_head, R"("head")"});
  }
  if (has_windows(form)) {
    add_windowed_needs(form, c, needs);
  }
  const std::vector<std::string_view> freed = freed_by(form);
  std::ranges::copy_if(needs_of_all_forms(c), std::back_inserter(needs),
                       [&](const FormNeed& need) { return std::ranges::find(freed, need.key) == freed.end(); });
  return needs;
}

}  // namespace

std::string_view name_of(KinForm form) { return row_of_kin(form).name; }

std::optional<KinForm> kin_form_of(const ModelConfig& config) {
  const bool norms_heads = config.head_norm == HeadNorm::each_head;
  if (config.positions != Positions::rotary || config.gating != Gating::gated) {
    return std::nullopt;
  }
  if (config.placement == NormPlacement::sandwich) {
    return norms_heads ? KinForm::gemma3 : KinForm::gemma2;
  }
  if (config.activation == Activation::gelu_tanh) {
    return KinForm::gemma;
  }
  if (norms_heads) {
    return KinForm::qwen3;
  }
  return config.attention_bias == AttentionBias::inputs ? std::optional(KinForm::qwen2) : std::nullopt;
}

void require_kin_form(KinForm form, const ModelConfig& config, const std::string& where) {
  require_form(config, {row_of_kin(form).shown, kin_needs(form, config)}, where);
}

std::vector<GgufEntry> kin_entries(KinForm form, const ModelConfig& config) {
  const auto count = [](int64_t n) { return static_cast<uint32_t>(n); };
  const std::string prefix = std::string(name_of(form)) + ".";
  std::vector<GgufEntry> entries;
  const auto add = [&](const char* key, GgufValue value) { entries.push_back({prefix + key, std::move(value)}); };
  const uint32_t width = count(config.width_of_head());
  add("vocab_size", count(config.target_vocabulary));
  add("context_length", count(config.max_length));
  add("embedding_length", count(config.model));
  add("block_count", count(config.decoder_layers));
  add("feed_forward_length", count(config.inner.of(0)));
  add("attention.head_count", count(config.heads));
  add("attention.head_count_kv", count(config.heads_of_keys(0)));
  add("attention.key_length", width);
  add("attention.value_length", width);
  add("attention.layer_norm_rms_epsilon", static_cast<float>(config.epsilon));
  add("rope.dimension_count", width);
  add("rope.freq_base", static_cast<float>(value_of_full(config, config.rotary_base)));
  std::ranges::move(gguf_scaling_entries(name_of(form), config, value_of_full(config, config.rotary_factor)),
                    std::back_inserter(entries));
  if (has_windows(form)) {
    const KinWindows windows = *windows_of(form, config);
    add("attention.sliding_window", count(windows.size));
    if (form == KinForm::gemma2) {
      add("attn_logit_softcapping", static_cast<float>(config.attention_cap));
      add("final_logit_softcapping", static_cast<float>(config.logit_cap));
    } else {
      add("attention.sliding_window_pattern", count(windows.period));
    }
  }
  return entries;
}

ForeignNames kin_names(KinForm form) {
  ForeignNames names = llama_names();
  for (ForeignTensor& tensor : names.tensors) {
    const bool keeps_form = tensor.form == ForeignForm::scaled_by_model && !is_gemma(form);
    tensor.form = keeps_form ? tensor.form : ForeignForm::same;
  }
  names.tensors.insert(names.tensors.end(), kKinNorms.begin(), kKinNorms.end());
  return names;
}

}  // namespace heed
