#include "interchange/config_differences.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "models/config_keys.h"

namespace heed {
namespace {

using Shown = std::vector<std::pair<std::string, std::string>>;  // settings and their values

// What training and `heed embed` read.
constexpr std::array<std::string_view, 13> kNotOfTheModel{
    "init",           "init_deviation", "branch_init",      "embedding_dropout", "attention_dropout", "inner_dropout",
    "branch_dropout", "text_pooling",   "recompute_layers", "text_width",        "text_activation",   "text_bias",
    "text_normalized"};

// What a model of this kind reads; others keep their defaults.
bool is_read(std::string_view key, const ModelConfig& c) {
  const bool rotary = c.positions == Positions::rotary, encoder = c.architecture == Architecture::encoder;
  if (key.starts_with("rotary_")) {
    const bool of_turns = key == "rotary_trained_length" || key == "rotary_slow_turns" || key == "rotary_fast_turns";
    return rotary && (!of_turns || is_by_turns(c.rotary_scaling)) &&
           (key != "rotary_factor" || c.rotary_scaling != RotaryScaling::none);
  }
  if (key == "relative_buckets" || key == "relative_max_distance") {
    return c.has_relative_bias();
  }
  if (key == "sinusoid") {
    return c.positions == Positions::sinusoidal;
  }
  if (key == "position_offset") {
    return c.positions == Positions::sinusoidal || are_learned(c.positions);
  }
  if (key == "decoder_layers" || key == "target_vocabulary") {
    return c.has(Stack::decoder);
  }
  if (key == "encoder_layers" || key == "source_vocabulary") {
    return c.has(Stack::encoder);
  }
  if (key == "head" || key == "head_layer" || key == "token_types" || key == "labels") {
    return encoder;
  }
  if (key == "pooling") {
    return encoder && c.head != Head::tokens && c.head != Head::token_labels && c.head != Head::none;
  }
  return key != "head_layer_norm" || (encoder && c.head_layer.has_value());
}

template <class Value>
std::string by_layer(int64_t layers, Value value_of) {
  std::vector<std::string> values;
  for (int64_t layer = 0; layer < layers; ++layer) {
    values.push_back(fmt::format("{}", value_of(layer)));
  }
  const bool same = std::ranges::count(values, values.front()) == std::ssize(values);
  return same ? values.front() : fmt::format("[{}]", fmt::join(values, ", "));
}

std::string_view said(Bias bias) { return bias == Bias::present ? "true" : "false"; }

// Scales are computed in more than one way, and f32 has fewer digits.
constexpr const char* kNearlyAll = "{:.12g}";

// Settings whose value can be written in several ways, with what they amount to.
Shown resolved(const ModelConfig& c) {
  const int64_t layers = std::max<int64_t>(1, c.layers_of_deepest_stack());
  const auto width = c.width_of_head();
  std::vector<std::string> patterns;
  for (const LayerPattern& pattern : c.patterns_in_use()) {
    patterns.push_back(to_text(pattern));
  }
  const double scale = c.attention_scale > 0.0 ? c.attention_scale : 1.0 / std::sqrt(static_cast<double>(width));
  return {
      {"key_value_heads", by_layer(layers, [&](int64_t layer) { return c.heads_of_keys(layer); })},
      {"head_width", fmt::format("{}", width)},
      {"value_width", fmt::format("{}", c.width_of_values())},
      {"inner", by_layer(layers, [&](int64_t layer) { return c.inner.of(layer); })},
      {"rotary_base", by_layer(layers, [&](int64_t layer) { return c.rotary_base.of(layer); })},
      {"rotary_factor", by_layer(layers, [&](int64_t layer) { return c.rotary_factor.of(layer); })},
      {"rotary_width", fmt::format("{}", c.rotary_width > 0 ? c.rotary_width : width)},
      {"rotary_trained_length",
       fmt::format("{}", c.rotary_trained_length > 0
                             ? c.rotary_trained_length
                             : static_cast<int64_t>(static_cast<double>(c.max_length) / c.rotary_factor.of(0)))},
      {"attention", fmt::format("{}", patterns)},
      {"attention_scale", fmt::format(kNearlyAll, scale)},
      {"output_scale", fmt::format(kNearlyAll, c.output_scale)},
      {"attention_bias", fmt::format("{} {}", said(c.bias_of_attention_inputs()), said(c.bias_of_attention_output()))},
      {"feed_forward_bias", std::string(said(c.bias_of_feed_forward()))},
      {"norm_bias", c.norm == NormKind::layer ? std::string(said(c.bias_of_norms())) : ""}};
}

// Settings that are contained in those of resolved().
constexpr std::array<std::string_view, 4> kResolvedElsewhere{"bias", "window", "encoder_attention",
                                                             "decoder_attention"};

// A setting as a recipe gives it, and what it amounts to.
struct ShownSetting {
  std::string name, given, meant;
};

std::vector<ShownSetting> settings_of(const ModelConfig& config) {
  ModelConfig copy = config;
  const Shown meant = resolved(config);
  std::vector<ShownSetting> settings;
  for (const Setting& setting : model_settings(copy).settings) {
    const auto found = std::ranges::find(meant, setting.name, &Shown::value_type::first);
    settings.push_back({setting.name, setting.show(), found == meant.end() ? setting.show() : found->second});
  }
  return settings;
}

}  // namespace

std::vector<SettingDifference> config_differences(const ModelConfig& a, const ModelConfig& b) {
  std::vector<SettingDifference> found;
  const std::vector<ShownSetting> first = settings_of(a), second = settings_of(b);
  for (size_t i = 0; i < first.size(); ++i) {
    const auto& [name, given, meant] = first[i];
    const bool counts = std::ranges::find(kNotOfTheModel, name) == kNotOfTheModel.end() &&
                        std::ranges::find(kResolvedElsewhere, name) == kResolvedElsewhere.end() &&
                        (is_read(name, a) || is_read(name, b));
    if (counts && meant != second[i].meant) {
      // Users know what stands in their file. Where that is equal, or the setting is a pattern, what it amounts to is
      // shown.
      const bool by_file = given != second[i].given && name != "attention";
      found.push_back(
          {fmt::format("{} = {}", name, by_file ? given : meant), by_file ? second[i].given : second[i].meant});
    }
  }
  return found;
}

}  // namespace heed
