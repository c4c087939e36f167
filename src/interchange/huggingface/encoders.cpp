// Text encoders: BERT and its kin, norms after sublayers and after the embeddings, learned positions, biases. They
// differ in
//   BERT, ELECTRA    types of tokens; ELECTRA's small models have narrower embeddings
//   RoBERTa, XLM-R   the first position is the padding token's number plus one; one type of tokens
//   DistilBERT       no types
//   MPNet            no types; biases of scores by distance, one table for all layers, beside positions as RoBERTa's
//   ALBERT           narrower embeddings; all layers are the same one
// and in what is between the encoder and its head.
#include <array>
#include <optional>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/huggingface/family.h"

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

// What a family calls the layers of its heads, and which activation they have where the settings don't say.
struct HeadNames {
  std::string_view text_layer = {};  // before labels of texts; empty: there is none
  Activation text_activation = Activation::tanh;
  std::string_view labels;
  std::string_view token_layer, token_norm, token_bias;  // of a masked language model
  std::optional<Activation> token_activation = {};       // of its layer; none: the encoder's
  std::array<std::string_view, 3> copies = {};           // of the output projection, which is the table of embeddings
  std::array<std::string_view, 3> bias_copies = {};
};

// In all families.
constexpr std::string_view kTokenLabels = "classifier.{term}";

constexpr HeadNames kBertHead{.text_layer = "{prefix}pooler.dense.{term}",
                              .labels = "classifier.{term}",
                              .token_layer = "cls.predictions.transform.dense.{term}",
                              .token_norm = "cls.predictions.transform.LayerNorm.{term}",
                              .token_bias = "cls.predictions.bias",
                              .copies = {"cls.predictions.decoder.weight"},
                              .bias_copies = {"cls.predictions.decoder.bias"}};
constexpr HeadNames kRobertaHead{.text_layer = "classifier.dense.{term}",
                                 .labels = "classifier.out_proj.{term}",
                                 .token_layer = "lm_head.dense.{term}",
                                 .token_norm = "lm_head.layer_norm.{term}",
                                 .token_bias = "lm_head.bias",
                                 .copies = {"lm_head.decoder.weight"},
                                 .bias_copies = {"lm_head.decoder.bias"}};
constexpr HeadNames kDistilBertHead{.text_layer = "pre_classifier.{term}",
                                    .text_activation = Activation::relu,
                                    .labels = "classifier.{term}",
                                    .token_layer = "vocab_transform.{term}",
                                    .token_norm = "vocab_layer_norm.{term}",
                                    .token_bias = "vocab_projector.bias",
                                    .token_activation = Activation::gelu,
                                    .copies = {"vocab_projector.weight"}};
constexpr HeadNames kElectraHead{.text_layer = "classifier.dense.{term}",
                                 .text_activation = Activation::gelu,
                                 .labels = "classifier.out_proj.{term}",
                                 .token_layer = "generator_predictions.dense.{term}",
                                 .token_norm = "generator_predictions.LayerNorm.{term}",
                                 .token_bias = "generator_lm_head.bias",
                                 .token_activation = Activation::gelu,
                                 .copies = {"generator_lm_head.weight"}};
constexpr HeadNames kAlbertHead{.text_layer = "{prefix}pooler.{term}",
                                .labels = "classifier.{term}",
                                .token_layer = "predictions.dense.{term}",
                                .token_norm = "predictions.LayerNorm.{term}",
                                .token_bias = "predictions.bias",
                                .copies = {"predictions.decoder.weight"},
                                .bias_copies = {"predictions.decoder.bias"}};

// What the model was saved for. Files without "architectures" tell it by their tensors.
enum class Purpose : uint8_t { rows, text_labels, token_labels, tokens };

std::string weight_name(std::string_view pattern) {
  std::string name(pattern);
  constexpr std::string_view kTerm = "{term}";
  if (const size_t at = name.find(kTerm); at != std::string::npos) {
    name.replace(at, kTerm.size(), "weight");
  }
  return name;
}

bool has_weight(const TensorArchive& archive, std::string_view pattern) {
  return archive.find(weight_name(pattern)) != nullptr;
}

Purpose purpose_of(FamilySource& source, const HeadNames& head) {
  const std::vector<std::string> classes = source.file.texts("architectures");
  const std::string name = classes.empty() ? "" : classes.front();
  if (name.ends_with("ForTokenClassification")) {
    return Purpose::token_labels;
  }
  if (name.ends_with("ForSequenceClassification") || (name.empty() && has_weight(source.archive, head.labels))) {
    return Purpose::text_labels;
  }
  require<FormatError>(!name.ends_with("ForQuestionAnswering") && !name.ends_with("ForMultipleChoice"),
                       source.file.where(), "\"architectures\" is \"{}\", whose head heed lacks", shown(name));
  return has_weight(source.archive, head.token_layer) ? Purpose::tokens : Purpose::rows;
}

std::vector<std::string> labels_in(FamilySource& source, std::string_view head) {
  std::vector<std::string> labels = source.file.numbered_texts("id2label");
  const ArchiveTensor& matrix = source.archive.at(weight_name(head));
  const auto rows = static_cast<size_t>(matrix.shape.empty() ? 0 : matrix.shape.front());
  for (size_t i = 0; !source.file.has("id2label") && i < rows; ++i) {
    labels.push_back(fmt::format("LABEL_{}", i));
  }
  require<FormatError>(labels.size() == rows, source.file.where(), "\"id2label\" has {} labels, but {} has {} rows",
                       labels.size(), matrix.text(), rows);
  return labels;
}

void set_label_head(FamilySource& source, const HeadNames& head, Purpose purpose, ModelConfig& config) {
  config.labels = labels_in(source, purpose == Purpose::token_labels ? kTokenLabels : head.labels);
  const std::string problem = source.file.text("problem_type", "");
  if (purpose == Purpose::token_labels) {
    config.head = Head::token_labels;
  } else if (config.labels.size() == 1 || problem == "regression") {
    config.head = Head::number;
    require<FormatError>(config.labels.size() == 1, source.file.where(), "a regression has {} outputs, expected 1",
                         config.labels.size());
    config.labels.clear();
  } else {
    config.head = problem == "multi_label_classification" ? Head::several_labels : Head::one_label;
  }
}

// Adds the head's settings, and its tensors to the names.
void add_head(FamilySource& source, const HeadNames& head, ModelConfig& config, ForeignNames& names) {
  const Purpose purpose = purpose_of(source, head);
  config.output_bias = purpose == Purpose::rows ? Bias::none : Bias::present;
  config.tying = purpose == Purpose::tokens ? Tying::output : Tying::none;
  if (purpose == Purpose::rows) {
    config.head = Head::none;
  }
  if (purpose == Purpose::tokens) {
    names.tensors.front().copies = head.copies;
    config.head_layer = head.token_activation.value_or(config.activation);
    config.head_layer_norm = HeadLayerNorm::present;
    names.tensors.push_back({head.token_layer, {WeightRole::head_layer}});
    names.tensors.push_back({head.token_norm, {WeightRole::head_norm}});
    names.tensors.push_back(
        {.name = head.token_bias, .roles = {WeightRole::logits}, .term = WeightTerm::bias, .copies = head.bias_copies});
  } else if (purpose != Purpose::rows) {
    set_label_head(source, head, purpose, config);
    // Labels of tokens are read from the rows as they are, also where labels of texts are not.
    const bool of_tokens = purpose == Purpose::token_labels;
    names.tensors.push_back({of_tokens ? kTokenLabels : head.labels, {WeightRole::labels}});
    if (!of_tokens) {
      config.pooling = Pooling::first;
      config.head_layer = head.text_activation;
      names.tensors.push_back({head.text_layer, {WeightRole::head_layer}});
    }
  }
}

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

ModelConfig encoder_config(ConfigFile& file, const EncoderKeys& keys = {}) {
  ModelConfig config = config_of(Architecture::encoder);
  config.model = file.integer(keys.model);
  config.inner = file.integer(keys.inner);
  config.heads = file.integer(keys.heads);
  config.encoder_layers = file.integer(keys.layers);
  config.source_vocabulary = file.integer("vocab_size");
  config.max_length = file.integer("max_position_embeddings");
  config.activation = activation_of(file, keys.activation, "gelu");
  config.positions = Positions::learned;
  config.placement = NormPlacement::post;
  config.final_norm = FinalNorm::none;
  config.embedding_norm = EmbeddingNorm::present;
  config.epsilon = file.number("layer_norm_eps", 1e-12);
  config.embedding_dropout = config.branch_dropout = dropout_of(file, keys.dropout);
  config.attention_dropout = dropout_of(file, keys.attention_dropout);
  const std::string positions = file.text("position_embedding_type", "absolute");
  require<FormatError>(positions == "absolute", file.where(), "\"position_embedding_type\" is \"{}\", which heed lacks",
                       shown(positions));
  file.require_flag("is_decoder", false, "and heed's encoders see all tokens");
  file.pass_over({"classifier_dropout", "classifier_dropout_prob", "id2label", "label2id", "output_past"});
  return config;
}

// Rows of the table before the first position belong to padding.
void set_offset(ConfigFile& file, ModelConfig& config) {
  config.position_offset = file.integer("pad_token_id", 1) + 1;
  config.max_length -= config.position_offset;
}

template <size_t count>
ForeignNames names_with(const std::array<ForeignTensor, count>& layers, const std::string& prefix) {
  return {.tensors = {layers.begin(), layers.end()},
          .prefix = prefix,
          .without_weight = {"position_ids", "token_type_ids"}};
}

constexpr std::string_view kWords = "embeddings.word_embeddings.weight";

}  // namespace

FamilyModel read_bert(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config = encoder_config(file);
  config.token_types = file.integer("type_vocab_size", 2);
  ForeignNames names = names_with(kBertLayers, prefix_of(source.archive, {"bert.", ""}, kWords));
  set_norm_terms(source.archive, names);
  add_head(source, kBertHead, config, names);
  if (!config.head_layer || config.head == Head::tokens) {
    names.without_weight.insert(names.without_weight.end(), {"pooler.dense", "cls.seq_relationship"});
  }
  return {config, std::move(names)};
}

FamilyModel read_roberta(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config = encoder_config(file);
  config.token_types = file.integer("type_vocab_size", 1);
  set_offset(file, config);
  ForeignNames names = names_with(kBertLayers, prefix_of(source.archive, {"roberta.", "xlm_roberta.", ""}, kWords));
  set_norm_terms(source.archive, names);
  names.without_weight.emplace_back("pooler.dense");
  add_head(source, kRobertaHead, config, names);
  return {config, std::move(names)};
}

FamilyModel read_distilbert(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config = encoder_config(file, {.model = "dim",
                                             .inner = "hidden_dim",
                                             .heads = "n_heads",
                                             .layers = "n_layers",
                                             .activation = "activation",
                                             .dropout = "dropout",
                                             .attention_dropout = "attention_dropout"});
  file.pass_over({"qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds", "tie_weights_"});
  ForeignNames names = names_with(kDistilBertLayers, prefix_of(source.archive, {"distilbert.", ""}, kWords));
  add_head(source, kDistilBertHead, config, names);
  return {config, std::move(names)};
}

FamilyModel read_electra(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config = encoder_config(file);
  config.token_types = file.integer("type_vocab_size", 2);
  if (const int64_t width = file.integer("embedding_size", config.model); width != config.model) {
    config.embedding_width = width;
  }
  file.pass_over({"summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"});
  ForeignNames names = names_with(kBertLayers, prefix_of(source.archive, {"electra.", ""}, kWords));
  names.without_weight.emplace_back("discriminator_predictions");
  add_head(source, kElectraHead, config, names);
  return {config, std::move(names)};
}

FamilyModel read_mpnet(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config = encoder_config(file);
  constexpr int64_t kFarthest = 128;
  config.positions = Positions::learned_relative_bias;
  config.relative_buckets = file.integer("relative_attention_num_buckets", 32);
  config.relative_max_distance = kFarthest;
  set_offset(file, config);
  ForeignNames names = names_with(kMpnetLayers, prefix_of(source.archive, {"mpnet.", ""}, kWords));
  names.without_weight.emplace_back("pooler.dense");
  add_head(source, kRobertaHead, config, names);
  return {config, std::move(names)};
}

FamilyModel read_albert(FamilySource& source) {
  ConfigFile& file = source.file;
  ModelConfig config = encoder_config(file);
  config.token_types = file.integer("type_vocab_size", 2);
  if (const int64_t width = file.integer("embedding_size", 128); width != config.model) {
    config.embedding_width = width;
  }
  config.shared_layers = SharedLayers::yes;
  for (const std::string_view key : {"num_hidden_groups", "inner_group_num"}) {
    const int64_t groups = file.integer(key, 1);
    require<FormatError>(groups == 1, file.where(), "\"{}\" is {}, but heed shares one layer among all", key, groups);
  }
  file.pass_over({"down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks"});
  ForeignNames names = names_with(kAlbertLayers, prefix_of(source.archive, {"albert.", ""}, kWords));
  add_head(source, kAlbertHead, config, names);
  if (!config.head_layer || config.head == Head::tokens) {
    names.without_weight.insert(names.without_weight.end(), {"pooler.", "sop_classifier"});
  }
  return {config, std::move(names)};
}

}  // namespace heed
