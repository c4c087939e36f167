#include "models/config_keys.h"

#include <utility>

namespace heed {
namespace {

Setting patterns(std::string name, std::vector<LayerPattern>& value) {
  const auto set = [&value](const std::string& where, const SettingValue& found) {
    std::vector<LayerPattern> layers;
    for (const std::string& text : std::get<std::vector<std::string>>(found)) {
      layers.push_back(layer_pattern(where, text));
    }
    value = std::move(layers);
  };
  const auto show = [&value] {
    std::vector<std::string> texts;
    texts.reserve(value.size());
    for (const LayerPattern& pattern : value) {
      texts.push_back(fmt::format("\"{}\"", to_text(pattern)));
    }
    return fmt::format("[{}]", fmt::join(texts, ", "));
  };
  return {std::move(name), SettingType::list, set, show};
}

template <class Value>
Setting per_layer(std::string name, PerLayer<Value>& value) {
  const auto set = [&value, name](const std::string& where, const SettingValue& found) {
    const auto& values = std::get<std::vector<Value>>(found);
    require<ConfigError>(!values.empty(), where, "{} is an empty list, expected a value for each layer", name);
    value = PerLayer<Value>(values);
  };
  const SettingType type = std::is_same_v<Value, double> ? SettingType::numbers : SettingType::integers;
  return {std::move(name), type, set, [&value] { return as_toml(value.values()); }};
}

}  // namespace

SettingTable model_settings(ModelConfig& c) {
  const auto probability = [](std::string name, Probability& p) {
    return Setting{std::move(name), SettingType::number,
                   [&p](const std::string&, const SettingValue& value) {
                     p = Probability(static_cast<float>(std::get<double>(value)));
                   },
                   [&p] { return fmt::format("{}", p.value); }};
  };
  const ValueNames<PartBias> part_biases{
      {"default", PartBias::as_model}, {"none", PartBias::none}, {"all", PartBias::all}};
  return {
      "model",
      {
          choice<Architecture>("architecture", c.architecture,
                               {{"seq2seq", Architecture::seq2seq},
                                {"causal-lm", Architecture::causal_lm},
                                {"encoder", Architecture::encoder}}),
          setting("model", c.model),
          per_layer("inner", c.inner),
          setting("heads", c.heads),
          per_layer("key_value_heads", c.key_value_heads),
          setting("head_width", c.head_width),
          added("0", setting("value_width", c.value_width)),
          setting("encoder_layers", c.encoder_layers),
          setting("decoder_layers", c.decoder_layers),
          setting("source_vocabulary", c.source_vocabulary),
          setting("target_vocabulary", c.target_vocabulary),
          formerly("longest", setting("max_length", c.max_length)),
          choice<Activation>("activation", c.activation,
                             {{"relu", Activation::relu},
                              {"relu-squared", Activation::relu_squared},
                              {"gelu", Activation::gelu},
                              {"gelu-tanh", Activation::gelu_tanh},
                              {"silu", Activation::silu}}),
          flag("gated", c.gating, Gating::plain, Gating::gated),
          choice<Positions>("positions", c.positions,
                            {{"none", Positions::none},
                             {"sinusoidal", Positions::sinusoidal},
                             {"learned", Positions::learned},
                             {"rotary", Positions::rotary},
                             {"alibi", Positions::alibi},
                             {"relative-bias", Positions::relative_bias},
                             {"learned-relative-bias", Positions::learned_relative_bias},
                             {"relative-keys", Positions::relative_keys},
                             {"relative-keys-values", Positions::relative_keys_values}}),
          added("\"interleaved\"", choice<SinusoidLayout>("sinusoid", c.sinusoid,
                                                          {{"interleaved", SinusoidLayout::interleaved},
                                                           {"halves", SinusoidLayout::halves},
                                                           {"halves-inclusive", SinusoidLayout::halves_inclusive}})),
          added("0", setting("position_offset", c.position_offset)),
          per_layer("rotary_base", c.rotary_base),
          added("0", setting("rotary_width", c.rotary_width)),
          added("\"none\"", choice("rotary_scaling", c.rotary_scaling, kRotaryScalingNames)),
          added("1.0", per_layer("rotary_factor", c.rotary_factor)),
          added("0", setting("rotary_trained_length", c.rotary_trained_length)),
          added("0.0", setting("rotary_slow_turns", c.rotary_slow_turns)),
          added("0.0", setting("rotary_fast_turns", c.rotary_fast_turns)),
          added("0.0", setting("rotary_magnitude", c.rotary_magnitude)),
          added("32", setting("relative_buckets", c.relative_buckets)),
          added("128", setting("relative_max_distance", c.relative_max_distance)),
          added("16", setting("relative_clip", c.relative_clip)),
          setting("window", c.window),
          added("[\"full\"]", patterns("attention", c.attention)),
          added("[]", patterns("encoder_attention", c.encoder_attention)),
          added("[]", patterns("decoder_attention", c.decoder_attention)),
          added("\"attention\"",
                choice<Autoregression>("autoregression", c.autoregression,
                                       {{"attention", Autoregression::attention}, {"ssru", Autoregression::ssru}})),
          added("0", per_layer("value_embeddings", c.value_embeddings)),
          added("\"elu\"", choice<LinearFeature>("linear_feature", c.linear_feature,
                                                 {{"elu", LinearFeature::elu}, {"exp", LinearFeature::exp}})),
          choice<NormKind>("norm", c.norm, {{"layer", NormKind::layer}, {"rms", NormKind::rms}}),
          added("\"plain\"", choice<NormGain>("norm_gain", c.norm_gain,
                                              {{"plain", NormGain::plain}, {"plus-one", NormGain::plus_one}})),
          choice<NormPlacement>("norm_placement", c.placement,
                                {{"pre", NormPlacement::pre},
                                 {"post", NormPlacement::post},
                                 {"sandwich", NormPlacement::sandwich},
                                 {"branch", NormPlacement::branch}}),
          added("\"sequential\"", choice<Branches>("branches", c.branches,
                                                   {{"sequential", Branches::sequential},
                                                    {"parallel", Branches::parallel},
                                                    {"parallel-own-norms", Branches::parallel_own_norms}})),
          added("false", flag("skips", c.skips, Skips::none, Skips::mirrored)),
          flag("final_norm", c.final_norm, FinalNorm::none, FinalNorm::present),
          added("false", flag("embedding_norm", c.embedding_norm, EmbeddingNorm::none, EmbeddingNorm::present)),
          added("\"none\"", choice<HeadNorm>("qk_norm", c.head_norm,
                                             {{"none", HeadNorm::none},
                                              {"head", HeadNorm::each_head},
                                              {"all", HeadNorm::all_heads},
                                              {"head-gains", HeadNorm::own_gains}})),
          setting("epsilon", c.epsilon),
          flag("bias", c.bias, Bias::none, Bias::present),
          added("\"default\"", choice<AttentionBias>("attention_bias", c.attention_bias,
                                                     {{"default", AttentionBias::as_model},
                                                      {"none", AttentionBias::none},
                                                      {"inputs", AttentionBias::inputs},
                                                      {"all", AttentionBias::all}})),
          added("\"default\"", choice<PartBias>("feed_forward_bias", c.feed_forward_bias, part_biases)),
          added("\"default\"", choice<PartBias>("norm_bias", c.norm_bias, part_biases)),
          flag("output_bias", c.output_bias, Bias::none, Bias::present),
          added("0.0", setting("logit_cap", c.logit_cap)),
          added("0.0", setting("attention_cap", c.attention_cap)),
          added("0.0", setting("attention_scale", c.attention_scale)),
          added("1.0", setting("output_scale", c.output_scale)),
          choice<Tying>("tie", c.tying, {{"none", Tying::none}, {"output", Tying::output}, {"all", Tying::all}}),
          choice<EmbeddingScale>("embedding_scale", c.embedding_scale,
                                 {{"none", EmbeddingScale::none}, {"sqrt-model", EmbeddingScale::sqrt_model}}),
          added("0", setting("embedding_width", c.embedding_width)),
          added("0", setting("bigrams", c.bigrams)),
          added("false", flag("shared_layers", c.shared_layers, SharedLayers::no, SharedLayers::yes)),
          choice<InitScheme>("init", c.init,
                             {{"xavier", InitScheme::xavier},
                              {"xavier-all", InitScheme::xavier_all},
                              {"normal", InitScheme::normal},
                              {"pytorch", InitScheme::pytorch}}),
          setting("init_deviation", c.init_deviation),
          added("\"default\"", choice<BranchStart>("branch_init", c.branch_init,
                                                   {{"default", BranchStart::random}, {"zero", BranchStart::zero}})),
          probability("embedding_dropout", c.embedding_dropout),
          probability("attention_dropout", c.attention_dropout),
          probability("inner_dropout", c.inner_dropout),
          probability("branch_dropout", c.branch_dropout),
          formerly("checkpoint_layers", flag("recompute_layers", c.recompute, Recompute::nothing, Recompute::layers)),
          added("0", setting("token_types", c.token_types)),
          added("\"tokens\"", choice<Head>("head", c.head,
                                           {{"tokens", Head::tokens},
                                            {"label", Head::one_label},
                                            {"labels", Head::several_labels},
                                            {"number", Head::number},
                                            {"token-labels", Head::token_labels},
                                            {"none", Head::none}})),
          added("\"none\"", choice<std::optional<Activation>>("head_layer", c.head_layer,
                                                              {{"none", std::nullopt},
                                                               {"linear", Activation::none},
                                                               {"relu", Activation::relu},
                                                               {"gelu", Activation::gelu},
                                                               {"gelu-tanh", Activation::gelu_tanh},
                                                               {"silu", Activation::silu},
                                                               {"tanh", Activation::tanh}})),
          added("false", flag("head_layer_norm", c.head_layer_norm, HeadLayerNorm::none, HeadLayerNorm::present)),
          added("\"first\"", choice("pooling", c.pooling, kPoolingNames)),
          added("[]", setting("labels", c.labels)),
          added("\"mean\"", choice("text_pooling", c.text_pooling, kPoolingNames)),
          added("0", setting("text_width", c.text_width)),
          added("\"none\"", choice<Activation>("text_activation", c.text_activation,
                                               {{"none", Activation::none},
                                                {"relu", Activation::relu},
                                                {"gelu", Activation::gelu},
                                                {"gelu-tanh", Activation::gelu_tanh},
                                                {"silu", Activation::silu},
                                                {"tanh", Activation::tanh}})),
          added("true", flag("text_bias", c.text_bias, Bias::none, Bias::present)),
          added("false", flag("text_normalized", c.text_normalized, Normalized::no, Normalized::yes)),
      }};
}

}  // namespace heed
