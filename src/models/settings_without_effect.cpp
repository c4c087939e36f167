#include <algorithm>

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
  constexpr std::string_view kRotary = R"(positions "rotary")", kBias = R"(positions "relative-bias")";
  const bool rotary = c.positions == Positions::rotary, bias = c.positions == Positions::relative_bias;
  const bool of_text = c.head == Head::one_label || c.head == Head::several_labels || c.head == Head::number;
  const bool of_labels = c.head != Head::tokens && c.head != Head::number;
  return {
      {"rotary_base", rotary, kRotary},
      {"rotary_width", rotary, kRotary},
      {"rotary_scaling", rotary, kRotary},
      {"rotary_factor", rotary, kRotary},
      {"rotary_trained_length", rotary && c.rotary_scaling == RotaryScaling::yarn, R"(rotary_scaling "yarn")"},
      {"relative_buckets", bias, kBias},
      {"relative_max_distance", bias, kBias},
      {"relative_clip", c.has_relative_keys(), R"(positions "relative-keys" and "relative-keys-values")"},
      {"linear_feature", std::ranges::any_of(c.patterns_in_use(), is_linear), R"(attention "linear")"},
      {"norm_bias", c.norm == NormKind::layer, R"(norm "layer")"},
      {"init_deviation", c.init == InitScheme::normal, R"(init "normal")"},
      {"pooling", of_text, R"(head "label", "labels" and "number")"},
      {"labels", of_labels, R"(head "label", "labels" and "token-labels")"},
  };
}

}  // namespace

void refuse_settings_without_effect(const ModelConfig& config) {
  const auto layers = config.layers_of_deepest_stack();
  require<ConfigError>(static_cast<int64_t>(config.attention.size()) <= layers, "model",
                       "attention has {} patterns for {} layers", config.attention.size(), layers);
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
