// BART and its kin, encoder-decoders with biases and norms by mean and variance. They differ in
//             norms   of embeddings  at the end  positions                      logits
//   BART      after   yes            no          learned, from row 2 on         + bias
//   Marian    after   no             no          sinusoids in halves            + bias
//   mBART     before  yes            yes         learned, from row 2 on         + bias
//   M2M-100   before  no             yes         sinusoids in halves, whose slowest is 1 / 10000; the first is one
//                                                after the padding's id
//   Pegasus   before  no             yes         sinusoids in halves            + bias
#include <array>

#include "base/errors.h"
#include "interchange/huggingface/families/family.h"

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
    ForeignTensor{.name = "final_logits_bias",
                  .roles = {WeightRole::logits},
                  .form = ForeignForm::single_row,
                  .term = WeightTerm::bias},
};

constexpr std::string_view kShared = "{prefix}shared.weight", kSourceTable = "{prefix}encoder.embed_tokens.weight",
                           kTargetTable = "{prefix}decoder.embed_tokens.weight", kHead = "lm_head.weight";

void add_tables(ForeignNames& names, Tying tying) {
  ForeignTensor source = of_encoder(tying == Tying::all ? kShared : kSourceTable, WeightRole::token_embedding);
  ForeignTensor target = of_decoder(kTargetTable, WeightRole::token_embedding);
  if (tying == Tying::all) {
    source.copies = {kSourceTable, kTargetTable, kHead};
  } else if (tying == Tying::output) {
    target.copies = {kHead};
  } else {
    names.tensors.push_back({.name = kHead, .roles = {WeightRole::logits}, .term = WeightTerm::factor});
  }
  names.tensors.push_back(source);
  names.tensors.push_back(target);
}

void exchange_for_both(ConfigFile& file, std::string_view of_encoder_key, std::string_view of_decoder_key,
                       int64_t& value) {
  int64_t decoder = value;
  file.exchange(of_encoder_key, value);
  file.exchange(of_decoder_key, decoder);
  require<FormatError>(value == decoder, file.where(), "\"{}\" is {} and \"{}\" {}, but heed has one for both stacks",
                       of_encoder_key, value, of_decoder_key, decoder);
}

void read_kind(ConfigFile& file, std::string_view type, ModelConfig& config) {
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
    const bool is_m2m = type == "m2m_100";
    config.positions = Positions::sinusoidal;
    config.sinusoid = is_m2m ? SinusoidLayout::halves_inclusive : SinusoidLayout::halves;
    config.position_offset = is_m2m ? position_behind_padding(file) : 0;
    file.require_flag("normalize_embedding", false, "which heed's form of Marian lacks");
  }
  file.pass_over({"normalize_before", "add_final_layer_norm", "static_position_embeddings", "normalize_embedding"});
}

// One vocabulary and one table for both stacks, or apart.
void exchange_tables(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  file.exchange("vocab_size", config.source_vocabulary);
  bool one_table = config.tying == Tying::all;
  if (!file.is_written() || !one_table) {
    file.exchange("decoder_vocab_size", config.target_vocabulary, config.source_vocabulary);
    file.exchange("share_encoder_decoder_embeddings", one_table, true);
  }
  exchange_tying(source, config, kHead, one_table ? "model.shared.weight" : "model.decoder.embed_tokens.weight", true);
  if (!file.is_written() && config.tying == Tying::output && one_table) {
    config.tying = Tying::all;
  }
}

}  // namespace

ForeignNames exchange_bart(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  begin_config(file, Architecture::seq2seq, config);
  file.exchange("d_model", config.model);
  int64_t inner = config.inner.of(0);
  exchange_for_both(file, "encoder_ffn_dim", "decoder_ffn_dim", inner);
  exchange_for_both(file, "encoder_attention_heads", "decoder_attention_heads", config.heads);
  file.exchange("encoder_layers", config.encoder_layers);
  file.exchange("decoder_layers", config.decoder_layers);
  file.exchange("max_position_embeddings", config.max_length);
  exchange_activation(file, "activation_function", config.activation);
  exchange_flag(file, "scale_embedding", config.embedding_scale,
                std::array{EmbeddingScale::none, EmbeddingScale::sqrt_model}, false);
  if (!file.is_written()) {
    config.inner = inner;
    config.output_bias = source.archive.find("final_logits_bias") == nullptr ? Bias::none : Bias::present;
    read_kind(file, file.text("model_type"), config);
  } else if (config.positions == Positions::sinusoidal && config.sinusoid == SinusoidLayout::halves_inclusive) {
    write_position_behind_padding(file, config.position_offset);
  }
  file.exchange("dropout", config.branch_dropout);
  file.exchange("attention_dropout", config.attention_dropout);
  file.exchange("activation_dropout", config.inner_dropout);
  config.embedding_dropout = file.is_written() ? config.embedding_dropout : config.branch_dropout;
  ForeignNames names{.tensors = {kBartNames.begin(), kBartNames.end()}, .prefix = "model."};
  if (config.positions == Positions::sinusoidal) {
    names.without_weight = {"embed_positions.weight"};
  }
  exchange_tables(source, config);
  add_tables(names, config.tying);
  return names;
}

}  // namespace heed
