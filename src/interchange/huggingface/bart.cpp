// BART and its kin, encoder-decoders with biases and norms by mean and variance. They differ in
//             norms   of embeddings  at the end  positions                      logits
//   BART      after   yes            no          learned, from row 2 on         + bias
//   Marian    after   no             no          sinusoids in halves            + bias
//   mBART     before  yes            yes         learned, from row 2 on         + bias
//   M2M-100   before  no             yes         sinusoids in halves, whose slowest is 1 / 10000; the first is 2
//   Pegasus   before  no             yes         sinusoids in halves            + bias
#include <array>

#include "interchange/huggingface/family.h"

namespace heed {
namespace {

constexpr Stack kEncoder = Stack::encoder, kDecoder = Stack::decoder;
constexpr ForeignForm kAsIs = ForeignForm::same;

constexpr ForeignTensor of_encoder(std::string_view name, WeightRole role, std::optional<Sublayer> sublayer = {}) {
  return {name, {role}, sublayer, kAsIs, kEncoder};
}
constexpr ForeignTensor of_decoder(std::string_view name, WeightRole role, std::optional<Sublayer> sublayer = {}) {
  return {name, {role}, sublayer, kAsIs, kDecoder};
}

constexpr Sublayer kSelf = Sublayer::self_attention, kCross = Sublayer::cross_attention,
                   kForward = Sublayer::feed_forward;

// A layer's last norm is that of its feed-forward layer, whatever its name says.
constexpr std::array kBartNames{
    of_encoder("{prefix}encoder.embed_positions.weight", WeightRole::position_embedding),
    of_encoder("{prefix}encoder.layernorm_embedding.{term}", WeightRole::embedding_norm),
    of_encoder("{prefix}encoder.layer_norm.{term}", WeightRole::final_norm),
    of_encoder("{prefix}encoder.layers.{layer}.self_attn.q_proj.{term}", WeightRole::query, kSelf),
    of_encoder("{prefix}encoder.layers.{layer}.self_attn.k_proj.{term}", WeightRole::key, kSelf),
    of_encoder("{prefix}encoder.layers.{layer}.self_attn.v_proj.{term}", WeightRole::value, kSelf),
    of_encoder("{prefix}encoder.layers.{layer}.self_attn.out_proj.{term}", WeightRole::attention_output, kSelf),
    of_encoder("{prefix}encoder.layers.{layer}.self_attn_layer_norm.{term}", WeightRole::sublayer_norm, kSelf),
    of_encoder("{prefix}encoder.layers.{layer}.fc1.{term}", WeightRole::up, kForward),
    of_encoder("{prefix}encoder.layers.{layer}.fc2.{term}", WeightRole::down, kForward),
    of_encoder("{prefix}encoder.layers.{layer}.final_layer_norm.{term}", WeightRole::sublayer_norm, kForward),
    of_decoder("{prefix}decoder.embed_positions.weight", WeightRole::position_embedding),
    of_decoder("{prefix}decoder.layernorm_embedding.{term}", WeightRole::embedding_norm),
    of_decoder("{prefix}decoder.layer_norm.{term}", WeightRole::final_norm),
    of_decoder("{prefix}decoder.layers.{layer}.self_attn.q_proj.{term}", WeightRole::query, kSelf),
    of_decoder("{prefix}decoder.layers.{layer}.self_attn.k_proj.{term}", WeightRole::key, kSelf),
    of_decoder("{prefix}decoder.layers.{layer}.self_attn.v_proj.{term}", WeightRole::value, kSelf),
    of_decoder("{prefix}decoder.layers.{layer}.self_attn.out_proj.{term}", WeightRole::attention_output, kSelf),
    of_decoder("{prefix}decoder.layers.{layer}.self_attn_layer_norm.{term}", WeightRole::sublayer_norm, kSelf),
    of_decoder("{prefix}decoder.layers.{layer}.encoder_attn.q_proj.{term}", WeightRole::query, kCross),
    of_decoder("{prefix}decoder.layers.{layer}.encoder_attn.k_proj.{term}", WeightRole::key, kCross),
    of_decoder("{prefix}decoder.layers.{layer}.encoder_attn.v_proj.{term}", WeightRole::value, kCross),
    of_decoder("{prefix}decoder.layers.{layer}.encoder_attn.out_proj.{term}", WeightRole::attention_output, kCross),
    of_decoder("{prefix}decoder.layers.{layer}.encoder_attn_layer_norm.{term}", WeightRole::sublayer_norm, kCross),
    of_decoder("{prefix}decoder.layers.{layer}.fc1.{term}", WeightRole::up, kForward),
    of_decoder("{prefix}decoder.layers.{layer}.fc2.{term}", WeightRole::down, kForward),
    of_decoder("{prefix}decoder.layers.{layer}.final_layer_norm.{term}", WeightRole::sublayer_norm, kForward),
    ForeignTensor{.name = "final_logits_bias", .roles = {WeightRole::logits}, .term = WeightTerm::bias},
};

constexpr std::string_view kShared = "{prefix}shared.weight", kSourceTable = "{prefix}encoder.embed_tokens.weight",
                           kTargetTable = "{prefix}decoder.embed_tokens.weight", kHead = "lm_head.weight";

void add_tables(ForeignNames& names, Tying tying) {
  ForeignTensor source = of_encoder(kSourceTable, WeightRole::token_embedding);
  ForeignTensor target = of_decoder(kTargetTable, WeightRole::token_embedding);
  if (tying == Tying::all) {
    source.copies = {kShared, kTargetTable, kHead};
  } else if (tying == Tying::output) {
    target.copies = {kHead};
  } else {
    names.tensors.push_back({.name = kHead, .roles = {WeightRole::logits}, .term = WeightTerm::factor});
  }
  names.tensors.push_back(source);
  names.tensors.push_back(target);
}

int64_t same_in_both(ConfigFile& file, std::string_view of_encoder_key, std::string_view of_decoder_key) {
  const int64_t encoder = file.integer(of_encoder_key), decoder = file.integer(of_decoder_key);
  require<FormatError>(encoder == decoder, file.where(), "\"{}\" is {} and \"{}\" {}, but heed has one for both stacks",
                       of_encoder_key, encoder, of_decoder_key, decoder);
  return encoder;
}

void set_kind(ConfigFile& file, std::string_view type, ModelConfig& config) {
  const bool norms_after = type == "bart" || type == "marian";
  config.placement = norms_after ? NormPlacement::post : NormPlacement::pre;
  config.final_norm = norms_after ? FinalNorm::none : FinalNorm::present;
  if (type == "bart" || type == "mbart") {
    constexpr int64_t kFirstRow = 2;
    config.embedding_norm = EmbeddingNorm::present;
    config.positions = Positions::learned;
    config.position_offset = kFirstRow;
    file.require_flag("normalize_embedding", true, "which heed's form of BART lacks");
  } else {
    constexpr int64_t kFirstPositionOfM2m = 2;
    const bool is_m2m = type == "m2m_100";
    config.positions = Positions::sinusoidal;
    config.sinusoid = is_m2m ? SinusoidLayout::halves_inclusive : SinusoidLayout::halves;
    config.position_offset = is_m2m ? kFirstPositionOfM2m : 0;
    file.require_flag("normalize_embedding", false, "which heed's form of Marian lacks");
  }
  file.pass_over({"normalize_before", "add_final_layer_norm", "static_position_embeddings", "normalize_embedding"});
}

}  // namespace

FamilyModel read_bart(FamilySource& source) {
  ConfigFile& file = source.file;
  const std::string type = file.text("model_type");
  ModelConfig config = config_of(Architecture::seq2seq);
  config.model = file.integer("d_model");
  config.inner = same_in_both(file, "encoder_ffn_dim", "decoder_ffn_dim");
  config.heads = same_in_both(file, "encoder_attention_heads", "decoder_attention_heads");
  config.encoder_layers = file.integer("encoder_layers");
  config.decoder_layers = file.integer("decoder_layers");
  config.source_vocabulary = file.integer("vocab_size");
  config.target_vocabulary = file.integer("decoder_vocab_size", config.source_vocabulary);
  config.max_length = file.integer("max_position_embeddings");
  config.activation = activation_of(file, "activation_function");
  if (file.flag("scale_embedding", false)) {
    config.embedding_scale = EmbeddingScale::sqrt_model;
  }
  config.output_bias = source.archive.find("final_logits_bias") == nullptr ? Bias::none : Bias::present;
  set_kind(file, type, config);
  config.embedding_dropout = config.branch_dropout = dropout_of(file, "dropout");
  config.attention_dropout = dropout_of(file, "attention_dropout");
  config.inner_dropout = dropout_of(file, "activation_dropout");
  ForeignNames names{.tensors = {kBartNames.begin(), kBartNames.end()}, .prefix = "model."};
  if (config.positions == Positions::sinusoidal) {
    names.without_weight = {"embed_positions.weight"};
  }
  const bool one_table = file.flag("share_encoder_decoder_embeddings", true);
  config.tying =
      tying_of(source, "lm_head.weight", one_table ? "model.shared.weight" : "model.decoder.embed_tokens.weight", true);
  if (config.tying == Tying::output && one_table) {
    config.tying = Tying::all;
  }
  add_tables(names, config.tying);
  return {config, std::move(names)};
}

}  // namespace heed
