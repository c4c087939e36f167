#include "interchange/forms/gpt2_form.h"

#include <array>

#include "interchange/forms/form_needs.h"

namespace heed {
namespace {

std::vector<FormNeed> gpt2_needs(const ModelConfig& c) {
  std::vector<FormNeed> needs{
      {"norm", c.norm == NormKind::layer, R"("layer")"},
      {"positions", c.positions == Positions::learned, R"("learned")"},
      {"activation", c.activation == Activation::gelu_tanh, R"("gelu-tanh")"},
      {"gated", c.gating == Gating::plain, "false"},
      {"key_value_heads", c.key_heads_text() == fmt::format("{}", c.heads), "0"},
      {"head_width", c.width_of_head() * c.heads == c.model, "0"},
      {"attention_bias", c.bias_of_attention_inputs() == Bias::present && c.bias_of_attention_output() == Bias::present,
       R"("all")"},
      {"feed_forward_bias", c.bias_of_feed_forward() == Bias::present, R"("all")"},
      {"norm_bias", c.bias_of_norms() == Bias::present, R"("all")"},
  };
  const std::vector<FormNeed> others = needs_of_all_forms(c);
  needs.insert(needs.end(), others.begin(), others.end());
  return needs;
}

constexpr Sublayer kGpt2Attention = Sublayer::self_attention, kGpt2FeedForward = Sublayer::feed_forward;
constexpr std::array kGpt2Tensors{
    ForeignTensor{"token_embd.{term}", {WeightRole::token_embedding}, {}, ForeignForm::scaled_by_model},
    ForeignTensor{"output.{term}", {WeightRole::logits}},
    ForeignTensor{"position_embd.{term}", {WeightRole::position_embedding}},
    ForeignTensor{"output_norm.{term}", {WeightRole::final_norm}},
    ForeignTensor{"blk.{layer}.attn_norm.{term}", {WeightRole::sublayer_norm}, kGpt2Attention},
    ForeignTensor{
        "blk.{layer}.attn_qkv.{term}", {WeightRole::query, WeightRole::key, WeightRole::value}, kGpt2Attention},
    ForeignTensor{"blk.{layer}.attn_output.{term}", {WeightRole::attention_output}, kGpt2Attention},
    ForeignTensor{"blk.{layer}.ffn_norm.{term}", {WeightRole::sublayer_norm}, kGpt2FeedForward},
    ForeignTensor{"blk.{layer}.ffn_up.{term}", {WeightRole::up}, kGpt2FeedForward},
    ForeignTensor{"blk.{layer}.ffn_down.{term}", {WeightRole::down}, kGpt2FeedForward},
};

}  // namespace

void require_gpt2_form(const ModelConfig& config, const std::string& where) {
  require_form(config, {"GPT-2", gpt2_needs(config)}, where);
}

std::vector<GgufEntry> gpt2_entries(const ModelConfig& config) {
  const auto count = [](int64_t n) { return static_cast<uint32_t>(n); };
  return {{"gpt2.context_length", count(config.max_length)},
          {"gpt2.embedding_length", count(config.model)},
          {"gpt2.block_count", count(config.decoder_layers)},
          {"gpt2.feed_forward_length", count(config.inner.of(0))},
          {"gpt2.attention.head_count", count(config.heads)},
          {"gpt2.attention.layer_norm_epsilon", static_cast<float>(config.epsilon)}};
}

ForeignNames gpt2_names() { return {.tensors = {kGpt2Tensors.begin(), kGpt2Tensors.end()}}; }

}  // namespace heed
