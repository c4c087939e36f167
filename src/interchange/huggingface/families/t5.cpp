// T5 and mT5: norms by root mean square before sublayers, no biases, positions as biases of scores by distance (the
// first layer's table serves its whole stack), scores without a scale.
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/huggingface/families/family.h"

namespace heed {
namespace {

constexpr ForeignTensor in_stack(Stack stack, std::string_view name, WeightRole role,
                                 std::optional<Sublayer> sublayer = {}) {
  return {name, {role}, sublayer, ForeignForm::same, stack};
}

constexpr Stack kReads = Stack::encoder, kWrites = Stack::decoder;
constexpr Sublayer kT5Self = Sublayer::self_attention, kT5Cross = Sublayer::cross_attention,
                   kT5Forward = Sublayer::feed_forward;

constexpr std::array kT5Names{
    in_stack(kReads, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", WeightRole::relative_bias),
    in_stack(kReads, "encoder.final_layer_norm.weight", WeightRole::final_norm),
    in_stack(kReads, "encoder.block.{layer}.layer.0.SelfAttention.q.weight", WeightRole::query, kT5Self),
    in_stack(kReads, "encoder.block.{layer}.layer.0.SelfAttention.k.weight", WeightRole::key, kT5Self),
    in_stack(kReads, "encoder.block.{layer}.layer.0.SelfAttention.v.weight", WeightRole::value, kT5Self),
    in_stack(kReads, "encoder.block.{layer}.layer.0.SelfAttention.o.weight", WeightRole::attention_output, kT5Self),
    in_stack(kReads, "encoder.block.{layer}.layer.0.layer_norm.weight", WeightRole::sublayer_norm, kT5Self),
    in_stack(kReads, "encoder.block.{layer}.layer.1.layer_norm.weight", WeightRole::sublayer_norm, kT5Forward),
    in_stack(kReads, "encoder.block.{layer}.layer.1.DenseReluDense.wo.weight", WeightRole::down, kT5Forward),
    in_stack(kWrites, "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
             WeightRole::relative_bias),
    in_stack(kWrites, "decoder.final_layer_norm.weight", WeightRole::final_norm),
    in_stack(kWrites, "decoder.block.{layer}.layer.0.SelfAttention.q.weight", WeightRole::query, kT5Self),
    in_stack(kWrites, "decoder.block.{layer}.layer.0.SelfAttention.k.weight", WeightRole::key, kT5Self),
    in_stack(kWrites, "decoder.block.{layer}.layer.0.SelfAttention.v.weight", WeightRole::value, kT5Self),
    in_stack(kWrites, "decoder.block.{layer}.layer.0.SelfAttention.o.weight", WeightRole::attention_output, kT5Self),
    in_stack(kWrites, "decoder.block.{layer}.layer.0.layer_norm.weight", WeightRole::sublayer_norm, kT5Self),
    in_stack(kWrites, "decoder.block.{layer}.layer.1.EncDecAttention.q.weight", WeightRole::query, kT5Cross),
    in_stack(kWrites, "decoder.block.{layer}.layer.1.EncDecAttention.k.weight", WeightRole::key, kT5Cross),
    in_stack(kWrites, "decoder.block.{layer}.layer.1.EncDecAttention.v.weight", WeightRole::value, kT5Cross),
    in_stack(kWrites, "decoder.block.{layer}.layer.1.EncDecAttention.o.weight", WeightRole::attention_output, kT5Cross),
    in_stack(kWrites, "decoder.block.{layer}.layer.1.layer_norm.weight", WeightRole::sublayer_norm, kT5Cross),
    in_stack(kWrites, "decoder.block.{layer}.layer.2.layer_norm.weight", WeightRole::sublayer_norm, kT5Forward),
    in_stack(kWrites, "decoder.block.{layer}.layer.2.DenseReluDense.wo.weight", WeightRole::down, kT5Forward),
};

constexpr std::array kPlainInner{
    in_stack(kReads, "encoder.block.{layer}.layer.1.DenseReluDense.wi.weight", WeightRole::up, kT5Forward),
    in_stack(kWrites, "decoder.block.{layer}.layer.2.DenseReluDense.wi.weight", WeightRole::up, kT5Forward),
};
constexpr std::array kGatedInner{
    in_stack(kReads, "encoder.block.{layer}.layer.1.DenseReluDense.wi_0.weight", WeightRole::gate, kT5Forward),
    in_stack(kReads, "encoder.block.{layer}.layer.1.DenseReluDense.wi_1.weight", WeightRole::up, kT5Forward),
    in_stack(kWrites, "decoder.block.{layer}.layer.2.DenseReluDense.wi_0.weight", WeightRole::gate, kT5Forward),
    in_stack(kWrites, "decoder.block.{layer}.layer.2.DenseReluDense.wi_1.weight", WeightRole::up, kT5Forward),
};

// "relu", "gated-gelu": the gate's gelu is the form by tanh.
void exchange_feed_forward(ConfigFile& file, ModelConfig& config) {
  constexpr std::string_view kGated = "gated-", kGatedGelu = "gated-gelu";
  const std::string key = "feed_forward_proj";
  std::string kind(name_of_activation(config.activation));
  if (config.gating == Gating::gated) {
    kind = config.activation == Activation::gelu_tanh ? kGatedGelu : fmt::format("{}{}", kGated, kind);
  }
  file.exchange(key, kind, "relu");
  if (!file.is_written()) {
    const bool gated = kind.starts_with(kGated);
    config.gating = gated ? Gating::gated : Gating::plain;
    config.activation = kind == kGatedGelu ? Activation::gelu_tanh
                                           : activation_named(file, key, gated ? kind.substr(kGated.size()) : kind);
  }
  file.pass_over({"dense_act_fn", "is_gated_act"});
}

// Tying, and the scale of what the output projection reads: tied projections have it, unless a file says otherwise. An
// mT5 is never scaled, although transformers 5 calls every mT5 tied.
void exchange_output(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  const bool scales_tied = file.text("model_type") != "mt5";
  if (file.is_written()) {
    const bool tied = config.tying != Tying::none, scaled = config.output_scale != 1.0;
    file.write("tie_word_embeddings", tied);
    if (scaled != (tied && scales_tied)) {
      file.write("scale_decoder_outputs", scaled);
    }
    return;
  }
  const bool tied = file.flag("tie_word_embeddings", true);
  exchange_tying(source, config, "lm_head.weight", "shared.weight", true);
  config.tying = config.tying == Tying::none ? Tying::none : Tying::all;
  if (file.flag("scale_decoder_outputs", tied && scales_tied)) {
    config.output_scale = 1.0 / std::sqrt(static_cast<double>(config.model));
  }
}

// The table of embeddings is one for both stacks. Some files lack the tensor that is shared, and have it for a stack.
void add_t5_tables(ForeignNames& names, const ModelConfig& config) {
  constexpr std::string_view kTable = "shared.weight", kOfEncoder = "encoder.embed_tokens.weight",
                             kOfDecoder = "decoder.embed_tokens.weight", kOfHead = "lm_head.weight";
  ForeignTensor source = in_stack(kReads, kTable, WeightRole::token_embedding);
  source.copies = {kOfEncoder, kOfDecoder, config.tying == Tying::none ? std::string_view() : kOfHead};
  ForeignTensor target = in_stack(kWrites, kTable, WeightRole::token_embedding);
  target.copies = {kOfEncoder, kOfDecoder};
  names.tensors.push_back(source);
  names.tensors.push_back(target);
  if (config.architecture == Architecture::seq2seq && config.tying == Tying::none) {
    names.tensors.push_back({.name = kOfHead, .roles = {WeightRole::logits}});
  }
}

}  // namespace

ForeignNames exchange_t5(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  const bool has_decoder = file.is_written() ? config.architecture == Architecture::seq2seq
                                             : source.archive.find("decoder.final_layer_norm.weight") != nullptr;
  begin_config(file, has_decoder ? Architecture::seq2seq : Architecture::encoder, config);
  file.exchange("d_model", config.model);
  file.exchange("d_ff", config.inner);
  int64_t width = config.width_of_head();
  file.exchange("d_kv", width);
  file.exchange("num_heads", config.heads);
  file.exchange("num_layers", config.encoder_layers);
  int64_t layers = has_decoder ? config.decoder_layers : config.encoder_layers;
  file.exchange("num_decoder_layers", layers, config.encoder_layers);
  file.exchange("vocab_size", config.source_vocabulary);
  file.exchange("n_positions", config.max_length, 512);
  exchange_feed_forward(file, config);
  file.exchange("relative_attention_num_buckets", config.relative_buckets, 32);
  file.exchange("relative_attention_max_distance", config.relative_max_distance, 128);
  file.exchange("layer_norm_epsilon", config.epsilon, 1e-6);
  file.exchange("dropout_rate", config.branch_dropout);
  if (!file.is_written()) {
    config.head_width = width;
    config.decoder_layers = layers;
    config.target_vocabulary = has_decoder ? config.source_vocabulary : 0;
    config.positions = Positions::relative_bias;
    config.attention_scale = 1.0;
    config.norm = NormKind::rms;
    config.bias = config.output_bias = Bias::none;
    config.embedding_dropout = config.attention_dropout = config.inner_dropout = config.branch_dropout;
    config.head = has_decoder ? config.head : Head::none;
  }
  if (has_decoder) {
    exchange_output(source, config);
  } else {
    file.pass_over({"tie_word_embeddings"});
  }
  ForeignNames names{.tensors = {kT5Names.begin(), kT5Names.end()},
                     .without_weight = {"EncDecAttention.relative_attention_bias"}};
  const auto& inner = config.gating == Gating::gated ? std::vector(kGatedInner.begin(), kGatedInner.end())
                                                     : std::vector(kPlainInner.begin(), kPlainInner.end());
  names.tensors.insert(names.tensors.end(), inner.begin(), inner.end());
  add_t5_tables(names, config);
  return names;
}

}  // namespace heed
