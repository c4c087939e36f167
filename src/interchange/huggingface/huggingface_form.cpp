#include "interchange/huggingface/huggingface_form.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "interchange/config_differences.h"
#include "interchange/huggingface/families/encoder_heads.h"
#include "models/any_model.h"

namespace heed {
namespace {

// What a family makes of a configuration.
struct Attempt {
  HuggingFaceForm form;
  std::string family;
  std::vector<SettingDifference> differences;  // from what the family reads in its own file
  std::optional<std::string> refusal = {};     // of the family's reader
};

std::string class_of(const Family& family, const ModelConfig& config) {
  std::string name(family.model_class);
  if (family.exchange == exchange_t5) {
    return name + (config.architecture == Architecture::seq2seq ? "ForConditionalGeneration" : "EncoderModel");
  }
  if (config.architecture != Architecture::encoder) {
    return name;
  }
  return name + (config.head == Head::none           ? "Model"
                 : config.head == Head::tokens       ? "ForMaskedLM"
                 : tells_replaced(config)            ? "ForPreTraining"
                 : config.head == Head::token_labels ? "ForTokenClassification"
                                                     : "ForSequenceClassification");
}

// The names and rows of the tensors, without values: what a reader asks to know how the model was saved.
TensorArchive names_alone(const ForeignNames& names, const Weights& weights) {
  TensorArchive archive("config.json");
  archive.add_file("config.json", nullptr);
  for (const NamedTensor& tensor : named_tensors(names, weights)) {
    if (archive.find(tensor.name) == nullptr) {
      archive.add({.name = tensor.name, .type = ForeignType::u8, .shape = {tensor.count(), 0}});
    }
  }
  return archive;
}

Attempt attempt(const Family& family, const ModelConfig& config, const Weights& weights) {
  const TensorArchive nothing("config.json");
  ConfigFile written;
  written.write("model_type", std::string(family.type));
  written.write("architectures", nlohmann::json::array({class_of(family, config)}));
  FamilySource to{written, nothing};
  ModelConfig copy = config;
  Attempt made{.form = {std::string(family.type), nullptr, family.exchange(to, copy)},
               .family = std::string(family.name),
               .differences = {}};
  made.form.settings = nlohmann::json::parse(written.content());
  const TensorArchive tensors = names_alone(made.form.names, weights);
  ConfigFile read(written.content(), "config.json");
  FamilySource from{read, tensors};
  ModelConfig found;
  try {
    family.exchange(from, found);
    made.differences = config_differences(config, found);
  } catch (const Error& error) {
    made.refusal = error.what();
  }
  return made;
}

bool fits(const Attempt& attempt) { return attempt.differences.empty() && !attempt.refusal; }

[[noreturn]] void refuse(const Attempt& attempt, const std::string& where, std::string_view nearest) {
  require<ConfigError>(!attempt.refusal, where, "does not fit the {} form{}: {}", attempt.family, nearest,
                       attempt.refusal.value_or(""));
  const SettingDifference& first = attempt.differences.front();
  fail<ConfigError>(where, "{}, but the {} form{} needs {}", first.setting, attempt.family, nearest, first.other);
}

// Whether a family has models of this kind at all.
bool is_of(const Family& family, Architecture architecture) {
  const std::string_view name = family.model_class;
  const bool writes = name.ends_with("CausalLM") || name.ends_with("LMHeadModel");
  const bool translates = name.ends_with("Generation") || name.ends_with("MTModel");
  return family.exchange == exchange_t5            ? architecture != Architecture::causal_lm
         : architecture == Architecture::causal_lm ? writes
         : architecture == Architecture::seq2seq   ? translates
                                                   : !writes && !translates;
}

}  // namespace

HuggingFaceForm huggingface_form_of(const ModelConfig& config, const ModelMarks& marks, const std::string& where) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  const auto own = std::ranges::find(families(), marks.family, &Family::type);
  if (own != families().end()) {
    Attempt made = attempt(*own, config, weights);
    if (!fits(made)) {
      refuse(made, where, "");
    }
    return std::move(made.form);
  }
  std::optional<Attempt> nearest;
  for (const Family& family : families()) {
    if (!is_of(family, config.architecture)) {
      continue;
    }
    Attempt made = attempt(family, config, weights);
    if (fits(made)) {
      return std::move(made.form);
    }
    const bool is_nearer =
        !nearest || (!made.refusal && (nearest->refusal || made.differences.size() < nearest->differences.size()));
    if (is_nearer) {
      nearest = std::move(made);
    }
  }
  ensure(nearest.has_value(), where, "no family has models of this kind");
  refuse(*nearest, where, ", the nearest of Hugging Face's,");
}

}  // namespace heed
