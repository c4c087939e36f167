// Decoders with norms by mean and variance: GPT-2, GPT-NeoX (Pythia), OPT and StableLM.
#include <array>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "interchange/huggingface/families/family.h"
#include "interchange/huggingface/families/rotary.h"

namespace heed {
namespace {

constexpr Sublayer kOfAttention = Sublayer::self_attention, kOfFeedForward = Sublayer::feed_forward;

// Matrices have a row for each input.
constexpr std::array kGpt2Names{
    ForeignTensor{"{prefix}wte.weight", {WeightRole::token_embedding}},
    ForeignTensor{"lm_head.weight", {WeightRole::logits}},
    ForeignTensor{"{prefix}wpe.weight", {WeightRole::position_embedding}},
    ForeignTensor{"{prefix}ln_f.{term}", {WeightRole::final_norm}},
    ForeignTensor{"{prefix}h.{layer}.ln_1.{term}", {WeightRole::sublayer_norm}, kOfAttention},
    ForeignTensor{"{prefix}h.{layer}.attn.c_attn.{term}",
                  {WeightRole::query, WeightRole::key, WeightRole::value},
                  kOfAttention,
                  ForeignForm::transposed},
    ForeignTensor{
        "{prefix}h.{layer}.attn.c_proj.{term}", {WeightRole::attention_output}, kOfAttention, ForeignForm::transposed},
    ForeignTensor{"{prefix}h.{layer}.ln_2.{term}", {WeightRole::sublayer_norm}, kOfFeedForward},
    ForeignTensor{"{prefix}h.{layer}.mlp.c_fc.{term}", {WeightRole::up}, kOfFeedForward, ForeignForm::transposed},
    ForeignTensor{"{prefix}h.{layer}.mlp.c_proj.{term}", {WeightRole::down}, kOfFeedForward, ForeignForm::transposed},
};

constexpr std::array kNeoXNames{
    ForeignTensor{"{prefix}embed_in.weight", {WeightRole::token_embedding}},
    ForeignTensor{"embed_out.weight", {WeightRole::logits}},
    ForeignTensor{"{prefix}final_layer_norm.{term}", {WeightRole::final_norm}},
    ForeignTensor{"{prefix}layers.{layer}.input_layernorm.{term}", {WeightRole::sublayer_norm}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.attention.query_key_value.{term}",
                  {WeightRole::query, WeightRole::key, WeightRole::value},
                  kOfAttention,
                  ForeignForm::grouped_by_heads},
    ForeignTensor{"{prefix}layers.{layer}.attention.dense.{term}", {WeightRole::attention_output}, kOfAttention},
    ForeignTensor{
        "{prefix}layers.{layer}.post_attention_layernorm.{term}", {WeightRole::sublayer_norm}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.dense_h_to_4h.{term}", {WeightRole::up}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.dense_4h_to_h.{term}", {WeightRole::down}, kOfFeedForward},
};

// Two rows of the table of positions were for padding.
constexpr int64_t kOptFirstPosition = 2;
constexpr std::array kOptNames{
    ForeignTensor{"{prefix}embed_tokens.weight", {WeightRole::token_embedding}},
    ForeignTensor{"lm_head.weight", {WeightRole::logits}},
    ForeignTensor{"{prefix}embed_positions.weight", {WeightRole::position_embedding}},
    ForeignTensor{"{prefix}project_in.{term}", {WeightRole::embedding_projection}},
    ForeignTensor{"{prefix}project_out.{term}", {WeightRole::head_layer}},
    ForeignTensor{"{prefix}final_layer_norm.{term}", {WeightRole::final_norm}},
    ForeignTensor{"{prefix}layers.{layer}.self_attn_layer_norm.{term}", {WeightRole::sublayer_norm}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.q_proj.{term}", {WeightRole::query}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.k_proj.{term}", {WeightRole::key}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.v_proj.{term}", {WeightRole::value}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.out_proj.{term}", {WeightRole::attention_output}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.final_layer_norm.{term}", {WeightRole::sublayer_norm}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.fc1.{term}", {WeightRole::up}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.fc2.{term}", {WeightRole::down}, kOfFeedForward},
};

constexpr std::array kStableLmNames{
    ForeignTensor{"{prefix}embed_tokens.weight", {WeightRole::token_embedding}},
    ForeignTensor{"lm_head.weight", {WeightRole::logits}},
    ForeignTensor{"{prefix}norm.{term}", {WeightRole::final_norm}},
    ForeignTensor{"{prefix}layers.{layer}.input_layernorm.{term}", {WeightRole::sublayer_norm}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.q_proj.{term}", {WeightRole::query}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.k_proj.{term}", {WeightRole::key}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.v_proj.{term}", {WeightRole::value}, kOfAttention},
    ForeignTensor{"{prefix}layers.{layer}.self_attn.o_proj.{term}", {WeightRole::attention_output}, kOfAttention},
    ForeignTensor{
        "{prefix}layers.{layer}.self_attn.q_layernorm.norms.{head}.{term}", {WeightRole::query_norm}, kOfAttention},
    ForeignTensor{
        "{prefix}layers.{layer}.self_attn.k_layernorm.norms.{head}.{term}", {WeightRole::key_norm}, kOfAttention},
    ForeignTensor{
        "{prefix}layers.{layer}.post_attention_layernorm.{term}", {WeightRole::sublayer_norm}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.gate_proj.{term}", {WeightRole::gate}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.up_proj.{term}", {WeightRole::up}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.down_proj.{term}", {WeightRole::down}, kOfFeedForward},
};

}  // namespace

ForeignNames exchange_gpt2(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  exchange_decoder(file, config,
                   {.model = file.first_of({"n_embd", "hidden_size"}),
                    .heads = file.first_of({"n_head", "num_attention_heads"}),
                    .layers = file.first_of({"n_layer", "num_hidden_layers"}),
                    .max_length = file.first_of({"n_positions", "n_ctx", "max_position_embeddings"})});
  file.exchange("n_inner", config.inner, 4 * config.model);
  exchange_activation(file, "activation_function", config.activation, "gelu_new");
  file.exchange("layer_norm_epsilon", config.epsilon, 1e-5);
  config.positions = file.is_written() ? config.positions : Positions::learned;
  file.exchange("embd_pdrop", config.embedding_dropout);
  file.exchange("attn_pdrop", config.attention_dropout);
  file.exchange("resid_pdrop", config.branch_dropout);
  file.require_flag("scale_attn_weights", true, "but heed's attention scales its scores");
  file.require_flag("scale_attn_by_inverse_layer_idx", false, "which heed lacks");
  file.require_flag("add_cross_attention", false, "which heed's decoders alone lack");
  ForeignNames names{.tensors = {kGpt2Names.begin(), kGpt2Names.end()},
                     .prefix = prefix_of(source, {"transformer.", ""}, "wte.weight"),
                     .without_weight = {".attn.bias", ".attn.masked_bias"}};
  exchange_tying(source, config, "lm_head.weight", names.prefix + "wte.weight", true);
  return names;
}

ForeignNames exchange_gpt_neox(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  exchange_decoder(file, config);
  file.exchange("intermediate_size", config.inner);
  exchange_activation(file, "hidden_act", config.activation, "gelu");
  file.exchange("layer_norm_eps", config.epsilon, 1e-5);
  bool has_bias = config.bias_of_attention_inputs() == Bias::present;
  file.exchange("attention_bias", has_bias, true);
  exchange_flag(file, "use_parallel_residual", config.branches,
                std::array{Branches::sequential, Branches::parallel_own_norms}, true);
  exchange_rotary(file, config, file.first_of({"rope_theta", "rotary_emb_base"}));
  exchange_rotated_part(file, config, "rotary_pct", 0.25);
  // Newer readers know one name, older ones the other.
  if (file.is_written()) {
    file.write("rotary_emb_base", config.rotary_base.of(0));
    exchange_rotated_part(file, config, "partial_rotary_factor", 0.25);
  }
  if (!file.is_written() && !has_bias) {
    config.attention_bias = AttentionBias::none;
  }
  file.pass_over({"rotary_emb_base", "partial_rotary_factor", "classifier_dropout"});
  file.exchange("attention_dropout", config.attention_dropout);
  file.exchange("hidden_dropout", config.branch_dropout);
  ForeignNames names{.tensors = {kNeoXNames.begin(), kNeoXNames.end()},
                     .prefix = prefix_of(source, {"gpt_neox.", ""}, "embed_in.weight"),
                     .without_weight = {"attention.bias", "attention.masked_bias", "rotary_emb.inv_freq"}};
  exchange_tying(source, config, "embed_out.weight", names.prefix + "embed_in.weight", false);
  return names;
}

ForeignNames exchange_opt(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  exchange_decoder(file, config);
  file.exchange("ffn_dim", config.inner);
  exchange_activation(file, "activation_function", config.activation, "relu");
  int64_t projected = config.embedding_width > 0 ? config.embedding_width : config.model;
  file.exchange("word_embed_proj_dim", projected, config.model);
  bool norms_before = config.placement != NormPlacement::post, no_final = config.final_norm == FinalNorm::none;
  file.exchange("do_layer_norm_before", norms_before, true);
  if (norms_before) {
    file.exchange("_remove_final_layer_norm", no_final, false);
  }
  if (!file.is_written()) {
    config.embedding_width = projected == config.model ? 0 : projected;
    config.positions = Positions::learned;
    config.position_offset = kOptFirstPosition;
    config.placement = norms_before ? config.placement : NormPlacement::post;
    config.final_norm = !norms_before || no_final ? FinalNorm::none : config.final_norm;
  }
  file.require_flag("enable_bias", true, "which heed lacks");
  file.require_flag("layer_norm_elementwise_affine", true, "which heed lacks");
  file.exchange("attention_dropout", config.attention_dropout);
  file.exchange("dropout", config.branch_dropout);
  ForeignNames names{.tensors = {kOptNames.begin(), kOptNames.end()},
                     .prefix = prefix_of(source, {"model.decoder.", "decoder."}, "embed_tokens.weight")};
  exchange_tying(source, config, "lm_head.weight", names.prefix + "embed_tokens.weight", true);
  return names;
}

ForeignNames exchange_stablelm(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  exchange_decoder(file, config);
  file.exchange("intermediate_size", config.inner);
  PerLayer<int64_t> key_heads = config.heads_of_keys(0);
  file.exchange("num_key_value_heads", key_heads, config.heads);
  exchange_activation(file, "hidden_act", config.activation, "silu");
  file.exchange("layer_norm_eps", config.epsilon, 1e-5);
  bool has_bias = config.bias_of_attention_inputs() == Bias::present,
       is_parallel = config.branches != Branches::sequential, norms_heads = config.head_norm == HeadNorm::own_gains;
  file.exchange("use_qkv_bias", has_bias, false);
  file.exchange("qk_layernorm", norms_heads, false);
  file.exchange("use_parallel_residual", is_parallel, false);
  if (!file.is_written()) {
    config.key_value_heads = key_heads;
    config.gating = Gating::gated;
    config.bias = Bias::none;
    config.norm_bias = PartBias::all;
    config.attention_bias = has_bias ? AttentionBias::inputs : config.attention_bias;
    config.branches = is_parallel ? Branches::parallel : config.branches;
    config.head_norm = norms_heads ? HeadNorm::own_gains : config.head_norm;
  }
  exchange_rotary(file, config);
  exchange_rotated_part(file, config, "partial_rotary_factor", 0.25);
  file.exchange("attention_dropout", config.attention_dropout);
  file.exchange("hidden_dropout", config.branch_dropout);
  ForeignNames names{.tensors = {kStableLmNames.begin(), kStableLmNames.end()},
                     .head_width = config.width_of_head(),
                     .prefix = prefix_of(source, {"model.", ""}, "embed_tokens.weight"),
                     .without_weight = {"rotary_emb.inv_freq"}};
  exchange_tying(source, config, "lm_head.weight", names.prefix + "embed_tokens.weight", false);
  return names;
}

}  // namespace heed
