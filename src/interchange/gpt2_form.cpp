#include "interchange/gpt2_form.h"

#include "interchange/exported_weights.h"
#include "interchange/form_needs.h"

namespace heed {
namespace {

std::vector<FormNeed> gpt2_needs(const ModelConfig& c) {
  std::vector<FormNeed> needs{
      {"norm", c.norm == NormKind::layer, R"("layer")"},
      {"positions", c.positions == Positions::learned, R"("learned")"},
      {"activation", c.activation == Activation::gelu_tanh, R"("gelu-tanh")"},
      {"gated", c.gating == Gating::plain, "false"},
      {"key_value_heads", c.keys_in_words() == fmt::format("{}", c.heads), "0"},
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

void add_norm(ExportedWeights& weights, const std::string& to, const std::string& from) {
  weights.add_plain(to + ".weight", from + ".gain");
  weights.add_plain(to + ".bias", from + ".bias");
}

void add_linear(ExportedWeights& weights, const std::string& to, const std::string& from) {
  weights.add_matrix(to + ".weight", from + ".weight");
  weights.add_plain(to + ".bias", from + ".bias");
}

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

std::vector<GgufTensor> gpt2_tensors(const ModelConfig& config, const SafeTensors& stored, GgufType type) {
  ExportedWeights weights(config, stored, type);
  weights.add_vocabulary();
  weights.add_plain("position_embd.weight", "embedding.positions");
  add_norm(weights, "output_norm", "decoder.norm");
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    const std::string to = fmt::format("blk.{}.", layer), from = fmt::format("decoder.layers.{}.", layer);
    add_norm(weights, to + "attn_norm", from + "attention.norm");
    add_linear(weights, to + "attn_qkv", from + "attention.projection");
    add_linear(weights, to + "attn_output", from + "attention.output");
    add_norm(weights, to + "ffn_norm", from + "feed_forward.norm");
    add_linear(weights, to + "ffn_up", from + "feed_forward.inner");
    add_linear(weights, to + "ffn_down", from + "feed_forward.output");
  }
  return weights.take();
}

}  // namespace heed
