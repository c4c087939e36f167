// Text encoders: BERT and its kin, norms after sublayers and after the embeddings, learned positions, biases. They
// differ in
//   BERT, ELECTRA    types of tokens; ELECTRA's small models have narrower embeddings
//   RoBERTa, XLM-R   the first position is the padding token's number plus one; one type of tokens
//   DistilBERT       no types
//   MPNet            no types; biases of scores by distance, one table for all layers, beside positions as RoBERTa's
//   ALBERT           narrower embeddings; all layers are the same one
// and in what is between the encoder and its head.
#include <array>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/huggingface/families/encoder_heads.h"

namespace heed {
namespace {

constexpr Sublayer kReading = Sublayer::self_attention, kInner = Sublayer::feed_forward;

constexpr std::array kBertLayers{
    ForeignTensor{"{prefix}embeddings.word_embeddings.weight", {WeightRole::token_embedding}},
    ForeignTensor{"{prefix}embeddings.position_embeddings.weight", {WeightRole::position_embedding}},
    ForeignTensor{"{prefix}embeddings.token_type_embeddings.weight", {WeightRole::type_embedding}},
    ForeignTensor{"{prefix}embeddings.LayerNorm.{term}", {WeightRole::embedding_norm}},
    ForeignTensor{"{prefix}embeddings_project.{term}", {WeightRole::embedding_projection}},
    ForeignTensor{"{prefix}encoder.layer.{layer}.attention.self.query.{term}", {WeightRole::query}, kReading},
    ForeignTensor{"{prefix}encoder.layer.{layer}.attention.self.key.{term}", {WeightRole::key}, kReading},
    ForeignTensor{"{prefix}encoder.layer.{layer}.attention.self.value.{term}", {WeightRole::value}, kReading},
    ForeignTensor{
        "{prefix}encoder.layer.{layer}.attention.output.dense.{term}", {WeightRole::attention_output}, kReading},
    ForeignTensor{
        "{prefix}encoder.layer.{layer}.attention.output.LayerNorm.{term}", {WeightRole::sublayer_norm}, kReading},
    ForeignTensor{"{prefix}encoder.layer.{layer}.intermediate.dense.{term}", {WeightRole::up}, kInner},
    ForeignTensor{"{prefix}encoder.layer.{layer}.output.dense.{term}", {WeightRole::down}, kInner},
    ForeignTensor{"{prefix}encoder.layer.{layer}.output.LayerNorm.{term}", {WeightRole::sublayer_norm}, kInner},
};

constexpr std::array kDistilBertLayers{
    ForeignTensor{"{prefix}embeddings.word_embeddings.weight", {WeightRole::token_embedding}},
    ForeignTensor{"{prefix}embeddings.position_embeddings.weight", {WeightRole::position_embedding}},
    ForeignTensor{"{prefix}embeddings.LayerNorm.{term}", {WeightRole::embedding_norm}},
    ForeignTensor{"{prefix}transformer.layer.{layer}.attention.q_lin.{term}", {WeightRole::query}, kReading},
    ForeignTensor{"{prefix}transformer.layer.{layer}.attention.k_lin.{term}", {WeightRole::key}, kReading},
    ForeignTensor{"{prefix}transformer.layer.{layer}.attention.v_lin.{term}", {WeightRole::value}, kReading},
    ForeignTensor{
        "{prefix}transformer.layer.{layer}.attention.out_lin.{term}", {WeightRole::attention_output}, kReading},
    ForeignTensor{"{prefix}transformer.layer.{layer}.sa_layer_norm.{term}", {WeightRole::sublayer_norm}, kReading},
    ForeignTensor{"{prefix}transformer.layer.{layer}.ffn.lin1.{term}", {WeightRole::up}, kInner},
    ForeignTensor{"{prefix}transformer.layer.{layer}.ffn.lin2.{term}", {WeightRole::down}, kInner},
    ForeignTensor{"{prefix}transformer.layer.{layer}.output_layer_norm.{term}", {WeightRole::sublayer_norm}, kInner},
};

constexpr std::array kMpnetLayers{
    ForeignTensor{"{prefix}embeddings.word_embeddings.weight", {WeightRole::token_embedding}},
    ForeignTensor{"{prefix}embeddings.position_embeddings.weight", {WeightRole::position_embedding}},
    ForeignTensor{"{prefix}embeddings.LayerNorm.{term}", {WeightRole::embedding_norm}},
    ForeignTensor{"{prefix}encoder.relative_attention_bias.weight", {WeightRole::relative_bias}},
    ForeignTensor{"{prefix}encoder.layer.{layer}.attention.attn.q.{term}", {WeightRole::query}, kReading},
    ForeignTensor{"{prefix}encoder.layer.{layer}.attention.attn.k.{term}", {WeightRole::key}, kReading},
    ForeignTensor{"{prefix}encoder.layer.{layer}.attention.attn.v.{term}", {WeightRole::value}, kReading},
    ForeignTensor{"{prefix}encoder.layer.{layer}.attention.attn.o.{term}", {WeightRole::attention_output}, kReading},
    ForeignTensor{"{prefix}encoder.layer.{layer}.attention.LayerNorm.{term}", {WeightRole::sublayer_norm}, kReading},
    ForeignTensor{"{prefix}encoder.layer.{layer}.intermediate.dense.{term}", {WeightRole::up}, kInner},
    ForeignTensor{"{prefix}encoder.layer.{layer}.output.dense.{term}", {WeightRole::down}, kInner},
    ForeignTensor{"{prefix}encoder.layer.{layer}.output.LayerNorm.{term}", {WeightRole::sublayer_norm}, kInner},
};

#define HEED_ALBERT_LAYER "{prefix}encoder.albert_layer_groups.{layer}.albert_layers.0."
constexpr std::array kAlbertLayers{
    ForeignTensor{"{prefix}embeddings.word_embeddings.weight", {WeightRole::token_embedding}},
    ForeignTensor{"{prefix}embeddings.position_embeddings.weight", {WeightRole::position_embedding}},
    ForeignTensor{"{prefix}embeddings.token_type_embeddings.weight", {WeightRole::type_embedding}},
    ForeignTensor{"{prefix}embeddings.LayerNorm.{term}", {WeightRole::embedding_norm}},
    ForeignTensor{"{prefix}encoder.embedding_hidden_mapping_in.{term}", {WeightRole::embedding_projection}},
    ForeignTensor{HEED_ALBERT_LAYER "attention.query.{term}", {WeightRole::query}, kReading},
    ForeignTensor{HEED_ALBERT_LAYER "attention.key.{term}", {WeightRole::key}, kReading},
    ForeignTensor{HEED_ALBERT_LAYER "attention.value.{term}", {WeightRole::value}, kReading},
    ForeignTensor{HEED_ALBERT_LAYER "attention.dense.{term}", {WeightRole::attention_output}, kReading},
    ForeignTensor{HEED_ALBERT_LAYER "attention.LayerNorm.{term}", {WeightRole::sublayer_norm}, kReading},
    ForeignTensor{HEED_ALBERT_LAYER "ffn.{term}", {WeightRole::up}, kInner},
    ForeignTensor{HEED_ALBERT_LAYER "ffn_output.{term}", {WeightRole::down}, kInner},
    ForeignTensor{HEED_ALBERT_LAYER "full_layer_layer_norm.{term}", {WeightRole::sublayer_norm}, kInner},
};
#undef HEED_ALBERT_LAYER

// The names of norms in old files.
void set_norm_terms(const TensorArchive& archive, ForeignNames& names) {
  if (archive.find(names.prefix + "embeddings.LayerNorm.gamma") != nullptr) {
    names.norms = {"gamma", "beta"};
  }
}

struct EncoderKeys {
  std::string_view model = "hidden_size", inner = "intermediate_size", heads = "num_attention_heads",
                   layers = "num_hidden_layers", activation = "hidden_act", dropout = "hidden_dropout_prob",
                   attention_dropout = "attention_probs_dropout_prob";
};

// Rows of the table before the first position belong to padding.
enum class FirstPosition : uint8_t { first_row, behind_padding };

void exchange_positions(ConfigFile& file, FirstPosition first, ModelConfig& config) {
  int64_t rows = config.max_length + config.position_offset;
  file.exchange("max_position_embeddings", rows);
  if (!file.is_written()) {
    config.position_offset = first == FirstPosition::behind_padding ? position_behind_padding(file) : 0;
    config.max_length = rows - config.position_offset;
  } else if (first == FirstPosition::behind_padding) {
    write_position_behind_padding(file, config.position_offset);
  }
}

void exchange_encoder(ConfigFile& file, FirstPosition first, ModelConfig& config, const EncoderKeys& keys = {}) {
  begin_config(file, Architecture::encoder, config);
  file.exchange(keys.model, config.model);
  file.exchange(keys.inner, config.inner);
  file.exchange(keys.heads, config.heads);
  file.exchange(keys.layers, config.encoder_layers);
  file.exchange("vocab_size", config.source_vocabulary);
  exchange_positions(file, first, config);
  exchange_activation(file, keys.activation, config.activation, "gelu");
  if (!file.is_written()) {
    config.positions = Positions::learned;
    config.placement = NormPlacement::post;
    config.final_norm = FinalNorm::none;
    config.embedding_norm = EmbeddingNorm::present;
  }
  file.exchange("layer_norm_eps", config.epsilon, 1e-12);
  file.exchange(keys.dropout, config.branch_dropout);
  file.exchange(keys.attention_dropout, config.attention_dropout);
  config.embedding_dropout = file.is_written() ? config.embedding_dropout : config.branch_dropout;
  const std::string positions = file.text("position_embedding_type", "absolute");
  require<FormatError>(positions == "absolute", file.where(), "\"position_embedding_type\" is \"{}\", which heed lacks",
                       shown(positions));
  file.require_flag("is_decoder", false, "and heed's encoders see all tokens");
  file.pass_over({"classifier_dropout", "classifier_dropout_prob", "id2label", "label2id", "output_past"});
}

// A width of embeddings that is not the model's.
void exchange_embedding_width(ConfigFile& file, ModelConfig& config, int64_t absent) {
  int64_t width = config.embedding_width > 0 ? config.embedding_width : config.model;
  file.exchange("embedding_size", width, absent);
  if (!file.is_written() && width != config.model) {
    config.embedding_width = width;
  }
}

// Encoders without a head are saved without a prefix.
template <size_t count>
ForeignNames names_with(const std::array<ForeignTensor, count>& layers, const FamilySource& source,
                        const ModelConfig& config, std::initializer_list<std::string_view> prefixes) {
  const bool is_bare = source.file.is_written() && config.head == Head::none;
  return {.tensors = {layers.begin(), layers.end()},
          .prefix = is_bare ? "" : prefix_of(source, prefixes, "embeddings.word_embeddings.weight"),
          .without_weight = {"position_ids", "token_type_ids"}};
}

}  // namespace

ForeignNames exchange_bert(FamilySource& source, ModelConfig& config) {
  exchange_encoder(source.file, FirstPosition::first_row, config);
  source.file.exchange("type_vocab_size", config.token_types, 2);
  ForeignNames names = names_with(kBertLayers, source, config, {"bert.", ""});
  set_norm_terms(source.archive, names);
  exchange_head(source, kBertHead, config, names);
  if (!config.head_layer || config.head == Head::tokens) {
    names.without_weight.insert(names.without_weight.end(), {"pooler.dense", "cls.seq_relationship"});
  }
  return names;
}

ForeignNames exchange_roberta(FamilySource& source, ModelConfig& config) {
  exchange_encoder(source.file, FirstPosition::behind_padding, config);
  source.file.exchange("type_vocab_size", config.token_types, 1);
  ForeignNames names = names_with(kBertLayers, source, config, {"roberta.", "xlm_roberta.", ""});
  set_norm_terms(source.archive, names);
  names.without_weight.emplace_back("pooler.dense");
  exchange_head(source, kRobertaHead, config, names);
  return names;
}

ForeignNames exchange_distilbert(FamilySource& source, ModelConfig& config) {
  exchange_encoder(source.file, FirstPosition::first_row, config,
                   {.model = "dim",
                    .inner = "hidden_dim",
                    .heads = "n_heads",
                    .layers = "n_layers",
                    .activation = "activation",
                    .dropout = "dropout",
                    .attention_dropout = "attention_dropout"});
  source.file.pass_over({"qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds", "tie_weights_"});
  ForeignNames names = names_with(kDistilBertLayers, source, config, {"distilbert.", ""});
  exchange_head(source, kDistilBertHead, config, names);
  return names;
}

ForeignNames exchange_electra(FamilySource& source, ModelConfig& config) {
  exchange_encoder(source.file, FirstPosition::first_row, config);
  source.file.exchange("type_vocab_size", config.token_types, 2);
  exchange_embedding_width(source.file, config, config.model);
  source.file.pass_over({"summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"});
  ForeignNames names = names_with(kBertLayers, source, config, {"electra.", ""});
  names.without_weight.emplace_back("discriminator_predictions");
  exchange_head(source, kElectraHead, config, names);
  return names;
}

ForeignNames exchange_mpnet(FamilySource& source, ModelConfig& config) {
  exchange_encoder(source.file, FirstPosition::behind_padding, config);
  source.file.exchange("relative_attention_num_buckets", config.relative_buckets, 32);
  if (!source.file.is_written()) {
    constexpr int64_t kFarthest = 128;
    config.positions = Positions::learned_relative_bias;
    config.relative_max_distance = kFarthest;
  }
  ForeignNames names = names_with(kMpnetLayers, source, config, {"mpnet.", ""});
  names.without_weight.emplace_back("pooler.dense");
  exchange_head(source, kRobertaHead, config, names);
  return names;
}

ForeignNames exchange_albert(FamilySource& source, ModelConfig& config) {
  ConfigFile& file = source.file;
  exchange_encoder(file, FirstPosition::first_row, config);
  file.exchange("type_vocab_size", config.token_types, 2);
  constexpr int64_t kNarrow = 128;
  exchange_embedding_width(file, config, kNarrow);
  config.shared_layers = file.is_written() ? config.shared_layers : SharedLayers::yes;
  for (const std::string_view key : {"num_hidden_groups", "inner_group_num"}) {
    int64_t groups = 1;
    file.exchange(key, groups, 1);
    require<FormatError>(groups == 1, file.where(), "\"{}\" is {}, but heed shares one layer among all", key, groups);
  }
  file.pass_over({"down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks"});
  ForeignNames names = names_with(kAlbertLayers, source, config, {"albert.", ""});
  exchange_head(source, kAlbertHead, config, names);
  if (!config.head_layer || config.head == Head::tokens) {
    names.without_weight.insert(names.without_weight.end(), {"pooler.", "sop_classifier"});
  }
  return names;
}

}  // namespace heed
