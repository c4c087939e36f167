#include "interchange/huggingface/families/encoder_heads.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {
namespace {

// In all families.
constexpr std::string_view kTokenLabels = "classifier.{term}";

// What the model was saved for. Files without "architectures" tell it by their tensors.
enum class Purpose : uint8_t { rows, text_labels, token_labels, tokens, replaced };

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

Purpose purpose_in(FamilySource& source, const HeadNames& head) {
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
  if (!head.replaced.empty() && has_weight(source.archive, head.replaced)) {
    return Purpose::replaced;
  }
  return has_weight(source.archive, head.token_layer) ? Purpose::tokens : Purpose::rows;
}

Purpose purpose_of(const ModelConfig& config) {
  return config.head == Head::none           ? Purpose::rows
         : config.head == Head::tokens       ? Purpose::tokens
         : tells_replaced(config)            ? Purpose::replaced
         : config.head == Head::token_labels ? Purpose::token_labels
                                             : Purpose::text_labels;
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

constexpr const char *kNumberProblem = "regression", *kSeveralProblem = "multi_label_classification",
                     *kOneProblem = "single_label_classification";

void read_label_head(FamilySource& source, const HeadNames& head, Purpose purpose, ModelConfig& config) {
  config.labels = labels_in(source, purpose == Purpose::token_labels ? kTokenLabels : head.labels);
  const std::string problem = source.file.text("problem_type", "");
  if (purpose == Purpose::token_labels) {
    config.head = Head::token_labels;
    return;
  }
  if (config.labels.size() == 1 || problem == kNumberProblem) {
    config.head = Head::number;
    require<FormatError>(config.labels.size() == 1, source.file.where(), "a regression has {} outputs, expected 1",
                         config.labels.size());
    config.labels.clear();
  } else {
    config.head = problem == kSeveralProblem ? Head::several_labels : Head::one_label;
  }
  config.pooling = Pooling::first;
  config.head_layer = head.text_activation;
}

void read_head(FamilySource& source, const HeadNames& head, Purpose purpose, ModelConfig& config) {
  config.output_bias = purpose == Purpose::rows ? Bias::none : Bias::present;
  config.tying = purpose == Purpose::tokens ? Tying::output : Tying::none;
  if (purpose == Purpose::rows) {
    config.head = Head::none;
  } else if (purpose == Purpose::tokens) {
    config.head_layer = head.token_activation.value_or(config.activation);
    config.head_layer_norm = HeadLayerNorm::present;
  } else if (purpose == Purpose::replaced) {
    config.head = Head::token_labels;
    config.labels = {kReplacedLabels.begin(), kReplacedLabels.end()};
    config.head_layer = config.activation;
  } else {
    read_label_head(source, head, purpose, config);
  }
}

void write_labels(ConfigFile& file, const ModelConfig& config) {
  const std::vector<std::string> labels =
      config.head == Head::number ? std::vector<std::string>{"LABEL_0"} : config.labels;
  nlohmann::json texts = nlohmann::json::object(), numbers = nlohmann::json::object();
  for (size_t i = 0; i < labels.size(); ++i) {
    texts[std::to_string(i)] = labels[i];
    numbers[labels[i]] = i;
  }
  file.write("id2label", texts);
  file.write("label2id", numbers);
  if (config.head != Head::token_labels) {
    file.write("problem_type", config.head == Head::number           ? kNumberProblem
                               : config.head == Head::several_labels ? kSeveralProblem
                                                                     : kOneProblem);
  }
}

}  // namespace

bool tells_replaced(const ModelConfig& config) {
  return config.head == Head::token_labels && config.head_layer && std::ranges::equal(config.labels, kReplacedLabels);
}

void exchange_head(FamilySource& source, const HeadNames& head, ModelConfig& config, ForeignNames& names) {
  const bool is_written = source.file.is_written();
  const Purpose purpose = is_written ? purpose_of(config) : purpose_in(source, head);
  // Labels of tokens are read from the rows as they are, also where labels of texts are not.
  const bool of_tokens = purpose == Purpose::token_labels, of_texts = purpose == Purpose::text_labels;
  if (!is_written) {
    read_head(source, head, purpose, config);
  } else if (of_tokens || of_texts) {
    write_labels(source.file, config);
  }
  if (purpose == Purpose::tokens) {
    names.tensors.front().copies = head.copies;
    names.tensors.push_back({head.token_layer, {WeightRole::head_layer}});
    names.tensors.push_back({head.token_norm, {WeightRole::head_norm}});
    names.tensors.push_back(
        {.name = head.token_bias, .roles = {WeightRole::logits}, .term = WeightTerm::bias, .copies = head.bias_copies});
  } else if (purpose == Purpose::replaced) {
    names.tensors.push_back({head.replaced_layer, {WeightRole::head_layer}});
    names.tensors.push_back({.name = head.replaced, .roles = {WeightRole::labels}, .zero_rows = 1});
  } else if (of_tokens || of_texts) {
    names.tensors.push_back({of_tokens ? kTokenLabels : head.labels, {WeightRole::labels}});
    if (of_texts) {
      names.tensors.push_back({head.text_layer, {WeightRole::head_layer}});
    }
  }
}

}  // namespace heed
