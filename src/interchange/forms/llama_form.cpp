#include "interchange/forms/llama_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "interchange/forms/form_needs.h"
#include "interchange/gguf/gguf_rotary.h"

namespace heed {
namespace {

std::vector<FormNeed> llama_needs(const ModelConfig& c) {
  const bool shared_bias = c.attention_bias == AttentionBias::as_model || c.feed_forward_bias == PartBias::as_model;
  std::vector<FormNeed> needs{
      {"norm", c.norm == NormKind::rms, R"("rms")"},
      {"positions", c.positions == Positions::rotary, R"("rotary")"},
      {"rotary_width", c.rotary_width == 0 || c.rotary_width == c.width_of_head(), "0"},
      {"activation", c.activation == Activation::silu, R"("silu")"},
      {"gated", c.gating == Gating::gated, "true"},
      {"bias", c.bias == Bias::none || !shared_bias, "false"},
      {"attention_bias", c.bias_of_attention_inputs() == Bias::none && c.bias_of_attention_output() == Bias::none,
       R"("none")"},
      {"feed_forward_bias", c.bias_of_feed_forward() == Bias::none, R"("none")"},
  };
  const std::vector<FormNeed> others = needs_of_all_forms(c);
  needs.insert(needs.end(), others.begin(), others.end());
  return needs;
}

// NTK-aware scaling is the plain rotation with another base: base^(-2c/d) f^(-2c/(d-2)) = (base f^(d/(d-2)))^(-2c/d).
double rotary_base_of(const ModelConfig& config) {
  const auto width = static_cast<double>(config.width_of_head());
  return config.rotary_scaling == RotaryScaling::ntk && width > 2.0
             ? config.rotary_base.of(0) * std::pow(config.rotary_factor.of(0), width / (width - 2.0))
             : config.rotary_base.of(0);
}

constexpr Sublayer kLlamaAttention = Sublayer::self_attention, kLlamaFeedForward = Sublayer::feed_forward;
constexpr std::array kLlamaTensors{
    ForeignTensor{"token_embd.{term}", {WeightRole::token_embedding}, {}, ForeignForm::scaled_by_model},
    ForeignTensor{"output.{term}", {WeightRole::logits}},
    ForeignTensor{"output_norm.{term}", {WeightRole::final_norm}},
    ForeignTensor{"blk.{layer}.attn_norm.{term}", {WeightRole::sublayer_norm}, kLlamaAttention},
    ForeignTensor{"blk.{layer}.attn_q.{term}", {WeightRole::query}, kLlamaAttention, ForeignForm::rotated_pairs},
    ForeignTensor{"blk.{layer}.attn_k.{term}", {WeightRole::key}, kLlamaAttention, ForeignForm::rotated_pairs},
    ForeignTensor{"blk.{layer}.attn_v.{term}", {WeightRole::value}, kLlamaAttention},
    ForeignTensor{"blk.{layer}.attn_output.{term}", {WeightRole::attention_output}, kLlamaAttention},
    ForeignTensor{"blk.{layer}.ffn_norm.{term}", {WeightRole::sublayer_norm}, kLlamaFeedForward},
    ForeignTensor{"blk.{layer}.ffn_gate.{term}", {WeightRole::gate}, kLlamaFeedForward},
    ForeignTensor{"blk.{layer}.ffn_up.{term}", {WeightRole::up}, kLlamaFeedForward},
    ForeignTensor{"blk.{layer}.ffn_down.{term}", {WeightRole::down}, kLlamaFeedForward},
};

}  // namespace

void require_llama_form(const ModelConfig& config, const std::string& where) {
  require_form(config, {"Llama", llama_needs(config)}, where);
}

std::vector<GgufEntry> llama_entries(const ModelConfig& config) {
  const auto count = [](int64_t n) { return static_cast<uint32_t>(n); };
  const uint32_t width = count(config.width_of_head());
  std::vector<GgufEntry> entries{
      {"llama.vocab_size", count(config.target_vocabulary)},
      {"llama.context_length", count(config.max_length)},
      {"llama.embedding_length", count(config.model)},
      {"llama.block_count", count(config.decoder_layers)},
      {"llama.feed_forward_length", count(config.inner.of(0))},
      {"llama.attention.head_count", count(config.heads)},
      {"llama.attention.head_count_kv", count(config.heads_of_keys(0))},
      {"llama.attention.key_length", width},
      {"llama.attention.value_length", width},
      {"llama.attention.layer_norm_rms_epsilon", static_cast<float>(config.epsilon)},
      {"llama.rope.dimension_count", width},
      {"llama.rope.freq_base", static_cast<float>(rotary_base_of(config))},
  };
  std::ranges::move(gguf_scaling_entries("llama", config, config.rotary_factor.of(0)), std::back_inserter(entries));
  return entries;
}

ForeignNames llama_names() { return {.tensors = {kLlamaTensors.begin(), kLlamaTensors.end()}}; }

}  // namespace heed
