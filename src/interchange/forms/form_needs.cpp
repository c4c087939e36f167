#include "interchange/forms/form_needs.h"

#include <algorithm>

#include "base/errors.h"

namespace heed {
namespace {

bool sees_everything(const LayerPattern& layer) {
  return std::ranges::all_of(layer, [](const HeadPattern& part) { return part.kind == HeadPattern::Kind::full; });
}

// "norm = "layer"", as a recipe would give it.
std::string setting_of(const ModelConfig& config, std::string_view key) {
  const std::string all = "\n" + describe(config) + "\n", begin = fmt::format("\n{} = ", key);
  const size_t at = all.find(begin);
  ensure(at != std::string::npos, key, "is not a setting");
  return all.substr(at + 1, all.find('\n', at + 1) - at - 1);
}

}  // namespace

std::vector<FormNeed> needs_of_all_forms(const ModelConfig& c) {
  constexpr std::string_view kOneValue = "one value for all layers";
  return {
      {"inner", c.inner.is_uniform(), kOneValue},
      {"key_value_heads", c.key_value_heads.is_uniform(), kOneValue},
      {"rotary_factor", c.positions != Positions::rotary || c.rotary_factor.is_uniform(), kOneValue},
      {"rotary_magnitude", c.rotary_magnitude == 0.0 || c.rotary_scaling == RotaryScaling::yarn, "0"},
      {"embedding_width", c.embedding_width == 0, "0"},
      {"bigrams", c.bigrams == 0, "0"},
      {"rotary_base", c.positions != Positions::rotary || c.rotary_base.is_uniform(), kOneValue},
      {"shared_layers", c.shared_layers == SharedLayers::no, "false"},
      {"norm_gain", c.norm_gain == NormGain::plain, R"("plain")"},
      {"norm_placement", c.placement == NormPlacement::pre, R"("pre")"},
      {"final_norm", c.final_norm == FinalNorm::present, "true"},
      {"embedding_norm", c.embedding_norm == EmbeddingNorm::none, "false"},
      {"qk_norm", c.head_norm == HeadNorm::none, R"("none")"},
      {"value_embeddings", !c.has_value_embeddings(), "0"},
      {"skips", c.skips == Skips::none, "false"},
      {"branches", c.branches == Branches::sequential, R"("sequential")"},
      {"window", c.window == 0, "0"},
      {"attention", std::ranges::all_of(c.patterns_in_use(), sees_everything), R"(["full"])"},
      {"value_width", c.width_of_values() == c.width_of_head(), "0"},
      {"output_bias", c.output_bias == Bias::none, "false"},
      {"logit_cap", c.logit_cap == 0.0, "0"},
      {"attention_cap", c.attention_cap == 0.0, "0"},
      {"attention_scale", c.attention_scale == 0.0, "0"},
      {"output_scale", c.output_scale == 1.0, "1"},
      {"position_offset", c.positions != Positions::learned || c.position_offset == 0, "0"},
  };
}

void require_form(const ModelConfig& config, const NamedForm& form, const std::string& where) {
  for (const FormNeed& need : form.needs) {
    require<ConfigError>(need.met, where, "{}, but the {} form, in which a GGUF file would hold it, needs {}",
                         need.met ? "" : setting_of(config, need.key), form.name, need.needed);
  }
}

}  // namespace heed
