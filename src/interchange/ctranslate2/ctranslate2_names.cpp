#include "interchange/ctranslate2/ctranslate2_names.h"

namespace heed {
namespace {

constexpr Sublayer kSelfSublayer = Sublayer::self_attention, kCrossSublayer = Sublayer::cross_attention,
                   kForwardSublayer = Sublayer::feed_forward;

constexpr ForeignTensor of_stack(Stack stack, std::string_view name, std::array<std::optional<WeightRole>, 3> roles,
                                 std::optional<Sublayer> sublayer = {}) {
  return {name, roles, sublayer, ForeignForm::same, stack};
}
constexpr ForeignTensor reading(std::string_view name, std::array<std::optional<WeightRole>, 3> roles,
                                std::optional<Sublayer> sublayer = {}) {
  return of_stack(Stack::encoder, name, roles, sublayer);
}
constexpr ForeignTensor writing(std::string_view name, std::array<std::optional<WeightRole>, 3> roles,
                                std::optional<Sublayer> sublayer = {}) {
  return of_stack(Stack::decoder, name, roles, sublayer);
}

constexpr std::array kCTranslate2Names{
    reading("encoder/position_encodings/encodings", {WeightRole::position_embedding}),
    reading("encoder/layernorm_embedding/{term}", {WeightRole::embedding_norm}),
    reading("encoder/layer_norm/{term}", {WeightRole::final_norm}),
    reading("encoder/layer_{layer}/self_attention/layer_norm/{term}", {WeightRole::sublayer_norm}, kSelfSublayer),
    reading("encoder/layer_{layer}/self_attention/linear_0/{term}",
            {WeightRole::query, WeightRole::key, WeightRole::value}, kSelfSublayer),
    reading("encoder/layer_{layer}/self_attention/linear_1/{term}", {WeightRole::attention_output}, kSelfSublayer),
    reading("encoder/layer_{layer}/ffn/layer_norm/{term}", {WeightRole::sublayer_norm}, kForwardSublayer),
    reading("encoder/layer_{layer}/ffn/linear_1/{term}", {WeightRole::down}, kForwardSublayer),
    writing("decoder/position_encodings/encodings", {WeightRole::position_embedding}),
    writing("decoder/layernorm_embedding/{term}", {WeightRole::embedding_norm}),
    writing("decoder/layer_norm/{term}", {WeightRole::final_norm}),
    writing("decoder/layer_{layer}/self_attention/layer_norm/{term}", {WeightRole::sublayer_norm}, kSelfSublayer),
    writing("decoder/layer_{layer}/self_attention/linear_0/{term}",
            {WeightRole::query, WeightRole::key, WeightRole::value}, kSelfSublayer),
    writing("decoder/layer_{layer}/self_attention/linear_1/{term}", {WeightRole::attention_output}, kSelfSublayer),
    writing("decoder/layer_{layer}/attention/layer_norm/{term}", {WeightRole::sublayer_norm}, kCrossSublayer),
    writing("decoder/layer_{layer}/attention/linear_0/{term}", {WeightRole::query}, kCrossSublayer),
    writing("decoder/layer_{layer}/attention/linear_1/{term}", {WeightRole::key, WeightRole::value}, kCrossSublayer),
    writing("decoder/layer_{layer}/attention/linear_2/{term}", {WeightRole::attention_output}, kCrossSublayer),
    writing("decoder/layer_{layer}/ffn/layer_norm/{term}", {WeightRole::sublayer_norm}, kForwardSublayer),
    writing("decoder/layer_{layer}/ffn/linear_1/{term}", {WeightRole::down}, kForwardSublayer),
};

// The activation of a gated layer follows the first of its two matrices.
constexpr std::array kPlainUp{
    reading("encoder/layer_{layer}/ffn/linear_0/{term}", {WeightRole::up}, kForwardSublayer),
    writing("decoder/layer_{layer}/ffn/linear_0/{term}", {WeightRole::up}, kForwardSublayer),
};
constexpr std::array kGatedUp{
    reading("encoder/layer_{layer}/ffn/linear_0/{term}", {WeightRole::gate}, kForwardSublayer),
    reading("encoder/layer_{layer}/ffn/linear_0_noact/{term}", {WeightRole::up}, kForwardSublayer),
    writing("decoder/layer_{layer}/ffn/linear_0/{term}", {WeightRole::gate}, kForwardSublayer),
    writing("decoder/layer_{layer}/ffn/linear_0_noact/{term}", {WeightRole::up}, kForwardSublayer),
};

// Scalars and texts; those that matter are read by their names elsewhere.
constexpr std::array<std::string_view, 17> kSettings{"weight_scale",
                                                     "num_heads",
                                                     "pre_norm",
                                                     "activation",
                                                     "embeddings_merge",
                                                     "alignment_layer",
                                                     "alignment_heads",
                                                     "scale_embeddings",
                                                     "scale_outputs",
                                                     "multiply_by_sqrt_depth",
                                                     "start_from_zero_embedding",
                                                     "alibi",
                                                     "unk_token",
                                                     "bos_token",
                                                     "eos_token",
                                                     "with_",
                                                     "user_decoder_start_tokens"};

constexpr std::string_view kUnnumberedSource = "encoder/embeddings/weight";

}  // namespace

ForeignNames ctranslate2_names(const ModelConfig& config, std::string_view source_table) {
  ForeignNames names{.tensors = {kCTranslate2Names.begin(), kCTranslate2Names.end()},
                     .norms = {.factor = "gamma", .bias = "beta"},
                     .without_weight = {kSettings.begin(), kSettings.end()}};
  if (config.gating == Gating::gated) {
    names.tensors.insert(names.tensors.end(), kGatedUp.begin(), kGatedUp.end());
  } else {
    names.tensors.insert(names.tensors.end(), kPlainUp.begin(), kPlainUp.end());
  }
  // One of two constants, since ForeignNames only refers to its texts.
  ForeignTensor source = reading(source_table == kCTranslate2Source ? kCTranslate2Source : kUnnumberedSource,
                                 {WeightRole::token_embedding});
  ForeignTensor target = writing(kCTranslate2Target, {WeightRole::token_embedding});
  if (config.tying == Tying::all) {
    source.copies = {kCTranslate2Target, kCTranslate2Projection};
  } else if (config.tying == Tying::output) {
    target.copies = {kCTranslate2Projection};
  } else {
    names.tensors.push_back(
        {.name = kCTranslate2Projection, .roles = {WeightRole::logits}, .term = WeightTerm::factor});
  }
  names.tensors.push_back({.name = kCTranslate2Bias, .roles = {WeightRole::logits}, .term = WeightTerm::bias});
  names.tensors.push_back(source);
  names.tensors.push_back(target);
  return names;
}

}  // namespace heed
