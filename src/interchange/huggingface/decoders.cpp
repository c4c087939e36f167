// Decoders with norms by mean and variance: GPT-2, GPT-NeoX (Pythia), OPT and StableLM.
#include <array>

#include "interchange/huggingface/family.h"
#include "interchange/huggingface/rotary.h"

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
        "{prefix}layers.{layer}.post_attention_layernorm.{term}", {WeightRole::sublayer_norm}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.gate_proj.{term}", {WeightRole::gate}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.up_proj.{term}", {WeightRole::up}, kOfFeedForward},
    ForeignTensor{"{prefix}layers.{layer}.mlp.down_proj.{term}", {WeightRole::down}, kOfFeedForward},
};

}  // namespace

FamilyModel read_gpt2(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config =
      decoder_config(file, {.model = file.first_of({"n_embd", "hidden_size"}),
                            .heads = file.first_of({"n_head", "num_attention_heads"}),
                            .layers = file.first_of({"n_layer", "num_hidden_layers"}),
                            .max_length = file.first_of({"n_positions", "n_ctx", "max_position_embeddings"})});
  config.inner = file.integer("n_inner", 4 * config.model);
  config.activation = activation_of(file, "activation_function", "gelu_new");
  config.epsilon = file.number("layer_norm_epsilon", 1e-5);
  config.positions = Positions::learned;
  config.embedding_dropout = dropout_of(file, "embd_pdrop");
  config.attention_dropout = dropout_of(file, "attn_pdrop");
  config.branch_dropout = dropout_of(file, "resid_pdrop");
  file.require_flag("scale_attn_weights", true, "but heed's attention scales its scores");
  file.require_flag("scale_attn_by_inverse_layer_idx", false, "which heed lacks");
  file.require_flag("add_cross_attention", false, "which heed's decoders alone lack");
  ForeignNames names{.tensors = {kGpt2Names.begin(), kGpt2Names.end()},
                     .prefix = prefix_of(source.archive, {"transformer.", ""}, "wte.weight"),
                     .without_weight = {".attn.bias", ".attn.masked_bias"}};
  config.tying = tying_of(source, "lm_head.weight", names.prefix + "wte.weight", true);
  return {config, std::move(names)};
}

FamilyModel read_gpt_neox(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config = decoder_config(file);
  config.inner = file.integer("intermediate_size");
  config.activation = activation_of(file, "hidden_act", "gelu");
  config.epsilon = file.number("layer_norm_eps", 1e-5);
  if (!file.flag("attention_bias", true)) {
    config.attention_bias = AttentionBias::none;
  }
  config.branches = file.flag("use_parallel_residual", true) ? Branches::parallel_own_norms : Branches::sequential;
  read_rotary(file, config, file.first_of({"rope_theta", "rotary_emb_base"}));
  read_rotated_part(file, config, "rotary_pct", 0.25);
  file.pass_over({"rotary_emb_base", "partial_rotary_factor", "classifier_dropout"});
  config.attention_dropout = dropout_of(file, "attention_dropout");
  config.branch_dropout = dropout_of(file, "hidden_dropout");
  ForeignNames names{.tensors = {kNeoXNames.begin(), kNeoXNames.end()},
                     .prefix = prefix_of(source.archive, {"gpt_neox.", ""}, "embed_in.weight"),
                     .without_weight = {"attention.bias", "attention.masked_bias", "rotary_emb.inv_freq"}};
  config.tying = tying_of(source, "embed_out.weight", names.prefix + "embed_in.weight", false);
  return {config, std::move(names)};
}

FamilyModel read_opt(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config = decoder_config(file);
  config.inner = file.integer("ffn_dim");
  config.activation = activation_of(file, "activation_function", "relu");
  config.positions = Positions::learned;
  config.position_offset = kOptFirstPosition;
  const int64_t projected = file.integer("word_embed_proj_dim", config.model);
  require<FormatError>(projected == config.model, file.where(),
                       "\"word_embed_proj_dim\" is {} and \"hidden_size\" {}, but heed's embeddings are not projected",
                       projected, config.model);
  if (!file.flag("do_layer_norm_before", true)) {
    config.placement = NormPlacement::post;
    config.final_norm = FinalNorm::none;
  } else if (file.flag("_remove_final_layer_norm", false)) {
    config.final_norm = FinalNorm::none;
  }
  file.require_flag("enable_bias", true, "which heed lacks");
  file.require_flag("layer_norm_elementwise_affine", true, "which heed lacks");
  config.attention_dropout = dropout_of(file, "attention_dropout");
  config.branch_dropout = dropout_of(file, "dropout");
  ForeignNames names{.tensors = {kOptNames.begin(), kOptNames.end()},
                     .prefix = prefix_of(source.archive, {"model.decoder.", "decoder."}, "embed_tokens.weight")};
  config.tying = tying_of(source, "lm_head.weight", names.prefix + "embed_tokens.weight", true);
  return {config, std::move(names)};
}

FamilyModel read_stablelm(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config = decoder_config(file);
  config.inner = file.integer("intermediate_size");
  config.key_value_heads = file.integer("num_key_value_heads", config.heads);
  config.activation = activation_of(file, "hidden_act", "silu");
  config.gating = Gating::gated;
  config.epsilon = file.number("layer_norm_eps", 1e-5);
  config.bias = Bias::none;
  config.norm_bias = PartBias::all;
  if (file.flag("use_qkv_bias", false)) {
    config.attention_bias = AttentionBias::inputs;
  }
  file.require_flag("qk_layernorm", false, "norms of each head with gains of its own, which heed lacks");
  if (file.flag("use_parallel_residual", false)) {
    config.branches = Branches::parallel;
  }
  read_rotary(file, config);
  read_rotated_part(file, config, "partial_rotary_factor", 0.25);
  config.attention_dropout = dropout_of(file, "attention_dropout");
  config.branch_dropout = dropout_of(file, "hidden_dropout");
  ForeignNames names{.tensors = {kStableLmNames.begin(), kStableLmNames.end()},
                     .prefix = prefix_of(source.archive, {"model.", ""}, "embed_tokens.weight"),
                     .without_weight = {"rotary_emb.inv_freq"}};
  config.tying = tying_of(source, "lm_head.weight", names.prefix + "embed_tokens.weight", false);
  return {config, std::move(names)};
}

}  // namespace heed
