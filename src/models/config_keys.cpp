#include "models/config_keys.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heed {
namespace {

using Type = ConfigKey::Type;

template <class Value>
using Names = std::vector<std::pair<std::string, Value>>;

template <class Value>
std::vector<std::string> words_of(const Names<Value>& names) {
  std::vector<std::string> words;
  for (const auto& entry : names) {
    words.push_back(entry.first);
  }
  return words;
}

ConfigKey integer(std::string name, int64_t ModelConfig::*member) {
  return {std::move(name), Type::integer,
          [member](ModelConfig& c, const std::string&, int64_t i, double, const std::string&) { c.*member = i; },
          [member](const ModelConfig& c) { return fmt::format("{}", c.*member); }};
}

ConfigKey number(std::string name, double ModelConfig::*member) {
  return {std::move(name), Type::number,
          [member](ModelConfig& c, const std::string&, int64_t, double n, const std::string&) { c.*member = n; },
          [member](const ModelConfig& c) { return fmt::format("{}", c.*member); }};
}

ConfigKey probability(std::string name, Probability ModelConfig::*member) {
  return {std::move(name), Type::number,
          [member](ModelConfig& c, const std::string&, int64_t, double n, const std::string&) {
            c.*member = Probability(static_cast<float>(n));
          },
          [member](const ModelConfig& c) { return fmt::format("{}", (c.*member).value); }};
}

// A value out of a few, by name.
template <class Value>
ConfigKey choice(std::string name, Value ModelConfig::*member, Names<Value> names) {
  const auto set = [member, names, name](ModelConfig& c, const std::string& where, int64_t, double,
                                         const std::string& text) {
    const auto it = std::ranges::find(names, text, &std::pair<std::string, Value>::first);
    require<ConfigError>(it != names.end(), where, "{} is '{}', expected one of {}", name, text,
                         fmt::join(words_of(names), ", "));
    c.*member = it->second;
  };
  const auto show = [member, names](const ModelConfig& c) {
    return "\"" + std::ranges::find(names, c.*member, &std::pair<std::string, Value>::second)->first + "\"";
  };
  return {std::move(name), Type::text, set, show};
}

template <class Value>
ConfigKey flag(std::string name, Value ModelConfig::*member, Value off, Value on) {
  return {
      std::move(name), Type::boolean,
      [=](ModelConfig& c, const std::string&, int64_t i, double, const std::string&) { c.*member = i != 0 ? on : off; },
      [=](const ModelConfig& c) { return c.*member == on ? "true" : "false"; }};
}

std::vector<ConfigKey> make_keys() {
  using C = ModelConfig;
  return {
      choice<Architecture>("architecture", &C::architecture,
                           {{"seq2seq", Architecture::seq2seq},
                            {"causal-lm", Architecture::causal_lm},
                            {"encoder", Architecture::encoder}}),
      integer("model", &C::model),
      integer("inner", &C::inner),
      integer("heads", &C::heads),
      integer("key_value_heads", &C::key_value_heads),
      integer("head_width", &C::head_width),
      integer("encoder_layers", &C::encoder_layers),
      integer("decoder_layers", &C::decoder_layers),
      integer("source_vocabulary", &C::source_vocabulary),
      integer("target_vocabulary", &C::target_vocabulary),
      integer("longest", &C::longest),
      choice<Activation>("activation", &C::activation,
                         {{"relu", Activation::relu},
                          {"gelu", Activation::gelu},
                          {"gelu-tanh", Activation::gelu_tanh},
                          {"silu", Activation::silu}}),
      flag("gated", &C::gating, Gating::plain, Gating::gated),
      choice<Positions>("positions", &C::positions,
                        {{"none", Positions::none},
                         {"sinusoidal", Positions::sinusoidal},
                         {"learned", Positions::learned},
                         {"rotary", Positions::rotary}}),
      number("rotary_base", &C::rotary_base),
      integer("window", &C::window),
      choice<NormKind>("norm", &C::norm, {{"layer", NormKind::layer}, {"rms", NormKind::rms}}),
      choice<NormPlacement>("norm_placement", &C::placement,
                            {{"pre", NormPlacement::pre}, {"post", NormPlacement::post}}),
      flag("final_norm", &C::final_norm, FinalNorm::none, FinalNorm::present),
      number("epsilon", &C::epsilon),
      flag("bias", &C::bias, Bias::none, Bias::present),
      flag("output_bias", &C::output_bias, Bias::none, Bias::present),
      choice<Tying>("tie", &C::tying, {{"none", Tying::none}, {"output", Tying::output}, {"all", Tying::all}}),
      choice<EmbeddingScale>("embedding_scale", &C::embedding_scale,
                             {{"none", EmbeddingScale::none}, {"sqrt-model", EmbeddingScale::sqrt_model}}),
      choice<InitScheme>("init", &C::init, {{"xavier", InitScheme::xavier}, {"normal", InitScheme::normal}}),
      number("init_deviation", &C::init_deviation),
      probability("embedding_dropout", &C::embedding_dropout),
      probability("attention_dropout", &C::attention_dropout),
      probability("inner_dropout", &C::inner_dropout),
      probability("branch_dropout", &C::branch_dropout),
      flag("checkpoint_layers", &C::keep, Keep::activations, Keep::layer_inputs),
  };
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

const std::vector<ConfigKey>& model_config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto it =
      std::ranges::min_element(candidates, {}, [&](const std::string& c) { return edit_distance(word, c); });
  const bool near = it != candidates.end() && edit_distance(word, *it) <= std::max<size_t>(2, word.size() / 2);
  return near ? *it : "";
}

}  // namespace heed
