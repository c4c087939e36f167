#include <algorithm>

#include "base/text/plural.h"
#include "models/config.h"
#include "models/config_keys.h"

namespace heed {
namespace {

struct SettingUse {
  std::string_view key;
  bool is_read;
  std::string_view by;  // what reads it
};

std::vector<SettingUse> uses(const ModelConfig& c) {
  constexpr std::string_view kRotary = R"(positions "rotary")",
                             kBias = R"(positions "relative-bias" and "learned-relative-bias")";
  constexpr std::string_view kTurns = R"(rotary_scaling "yarn" and "llama3")";
  const bool rotary = c.positions == Positions::rotary, bias = c.has_relative_bias();
  const bool reads_turns = rotary && is_by_turns(c.rotary_scaling);
  const bool of_text = c.head == Head::one_label || c.head == Head::several_labels || c.head == Head::number;
  const bool of_labels = c.has_labels();
  return {
      {"attention", c.encoder_attention.empty() || c.decoder_attention.empty(),
       "stacks without encoder_attention or decoder_attention"},
      {"sinusoid", c.positions == Positions::sinusoidal, R"(positions "sinusoidal")"},
      {"position_offset", c.positions == Positions::sinusoidal || are_learned(c.positions),
       R"(positions "sinusoidal" and "learned")"},
      {"rotary_base", rotary, kRotary},
      {"rotary_width", rotary, kRotary},
      {"rotary_scaling", rotary, kRotary},
      {"rotary_factor", rotary, kRotary},
      {"rotary_trained_length", reads_turns, kTurns},
      {"rotary_slow_turns", reads_turns, kTurns},
      {"rotary_fast_turns", reads_turns, kTurns},
      {"rotary_magnitude", rotary, kRotary},
      {"relative_buckets", bias, kBias},
      {"relative_max_distance", bias, kBias},
      {"relative_clip", c.has_relative_keys(), R"(positions "relative-keys" and "relative-keys-values")"},
      {"decoder_attention", !c.is_recurrent(), R"(autoregression "attention")"},
      {"skips", c.layers_of_deepest_stack() > 2, "stacks of three layers or more"},
      {"linear_feature", std::ranges::any_of(c.patterns_in_use(), is_linear), R"(attention "linear")"},
      {"attention_scale",
       c.architecture == Architecture::seq2seq || !std::ranges::all_of(c.patterns_in_use(), is_linear),
       "attention with a softmax, and all layers are \"linear\""},
      {"norm_bias", c.norm == NormKind::layer, R"(norm "layer")"},
      {"init_deviation", c.init == InitScheme::normal, R"(init "normal")"},
      {"head_layer_norm", c.head_layer.has_value(), "a head_layer"},
      {"text_width", false, "imported models: no task trains it"},
      {"text_activation", c.text_width > 0, "a text_width above 0"},
      {"text_bias", c.text_width > 0, "a text_width above 0"},
      {"pooling", of_text, R"(head "label", "labels" and "number")"},
      {"labels", of_labels, R"(head "label", "labels" and "token-labels")"},
  };
}

struct PatternList {
  std::string_view key;
  size_t count;
  int64_t layers;  // that follow it, of the deeper stack
};

std::vector<PatternList> lists_of_patterns(const ModelConfig& c) {
  const int64_t encoder = c.layers_of(Stack::encoder), decoder = c.layers_of(Stack::decoder);
  const int64_t sharing =
      std::max(c.encoder_attention.empty() ? encoder : 0, c.decoder_attention.empty() ? decoder : 0);
  return {{"attention", c.attention.size(), sharing == 0 ? std::ssize(c.attention) : sharing},
          {"encoder_attention", c.encoder_attention.size(), encoder},
          {"decoder_attention", c.decoder_attention.size(), decoder}};
}

}  // namespace

void refuse_settings_without_effect(const ModelConfig& config) {
  for (const auto& [key, count, layers] : lists_of_patterns(config)) {
    require<ConfigError>(static_cast<int64_t>(count) <= layers, "model", "{} has {} patterns for {} layer{}", key,
                         count, layers, plural(layers));
  }
  ModelConfig copy = config, defaults;
  const SettingTable own = model_settings(copy), plain = model_settings(defaults);
  for (const SettingUse& use : uses(config)) {
    const size_t at =
        static_cast<size_t>(std::ranges::find(own.settings, use.key, &Setting::name) - own.settings.begin());
    ensure(at < own.settings.size(), "model", "no setting is called {}", use.key);
    const std::string value = own.settings[at].show();
    require<ConfigError>(use.is_read || value == plain.settings[at].show(), "model",
                         "{} = {} has no effect: it is for {}", use.key, value, use.by);
  }
}

}  // namespace heed
