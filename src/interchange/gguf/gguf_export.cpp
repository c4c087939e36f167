#include "interchange/gguf/gguf_export.h"

#include <array>
#include <functional>
#include <iterator>
#include <optional>

#include "interchange/exported_weights.h"
#include "interchange/forms/gpt2_form.h"
#include "interchange/forms/kin_forms.h"
#include "interchange/forms/llama_form.h"
#include "interchange/gguf/gguf.h"
#include "interchange/gguf/gguf_merged_tokenizer.h"
#include "interchange/gguf/gguf_model.h"
#include "interchange/gguf/gguf_rotary.h"
#include "interchange/gguf/gguf_tokenizer.h"
#include "models/any_model.h"

namespace heed {
namespace {

// As llama.cpp numbers what most of a file's matrices are.
constexpr std::array<std::pair<GgufType, uint32_t>, 5> kFileTypes{
    {{GgufType::f32, 0}, {GgufType::f16, 1}, {GgufType::q4_0, 2}, {GgufType::q8_0, 7}, {GgufType::bf16, 32}}};
constexpr uint32_t kVersionOfBlocks = 2;

// A form of model, as llama.cpp names it.
struct Form {
  std::string name;
  std::function<void(const ModelConfig& config, const std::string& where)> require;
  std::function<std::vector<GgufEntry>(const ModelConfig& config)> entries;
  std::function<ForeignNames()> names;
};

// A few settings tell the forms apart; what else a form needs is refused by its own name.
Form form_of(const ModelConfig& config) {
  if (config.positions == Positions::learned) {
    return {"gpt2", require_gpt2_form, gpt2_entries, gpt2_names};
  }
  if (const std::optional<KinForm> kin = kin_form_of(config)) {
    return {std::string(name_of(*kin)),
            [kin](const ModelConfig& of, const std::string& where) { require_kin_form(*kin, of, where); },
            [kin](const ModelConfig& of) { return kin_entries(*kin, of); }, [kin] { return kin_names(*kin); }};
  }
  return {"llama", require_llama_form, llama_entries, llama_names};
}

std::vector<GgufEntry> entries_of_tokenizer(const ExportedModel& model) {
  const Tokenizer& tokenizer = *model.tokenizers.front();
  const auto* const merged = dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer);
  return merged == nullptr ? tokenizer_entries(tokenizer, model.documents, model.where)
                           : merged_tokenizer_entries(*merged, model.config.target_vocabulary, model.where);
}

std::vector<GgufEntry> general_entries(const std::string& name, const Form& form, GgufType type) {
  std::vector<GgufEntry> entries{{"general.architecture", form.name}, {"general.name", name}};
  for (const auto& [candidate, number] : kFileTypes) {
    if (candidate == type) {
      entries.push_back({"general.file_type", number});
    }
  }
  if (type == GgufType::q8_0 || type == GgufType::q4_0) {
    entries.push_back({"general.quantization_version", kVersionOfBlocks});
  }
  return entries;
}

// How the model is decoded, as far as the format has keys for it, and how it wants to see conversations.
std::vector<GgufEntry> entries_of_use(const ExportedModel& model) {
  std::vector<GgufEntry> entries;
  for_each_gguf_default(model.decoding, [&]<class Value>(const char* key, const std::optional<Value>& value) {
    if (value) {
      using Stored = std::conditional_t<std::is_same_v<Value, int64_t>, uint32_t, float>;
      entries.push_back({key, static_cast<Stored>(*value)});
    }
  });
  if (model.chat_template) {
    entries.push_back({"tokenizer.chat_template", *model.chat_template});
  }
  return entries;
}

void add(std::vector<GgufEntry>& to, std::vector<GgufEntry> entries) {
  std::ranges::move(entries, std::back_inserter(to));
}

}  // namespace

void require_gguf_form(const ExportedModel& model) { form_of(model.config).require(model.config, model.where); }

ExportSummary write_gguf_model(const ExportedModel& model, const std::filesystem::path& to, GgufType type) {
  const ModelConfig& config = model.config;
  const Form form = form_of(config);
  std::vector<GgufEntry> entries = general_entries(model.name, form, type);
  add(entries, form.entries(config));
  add(entries, entries_of_tokenizer(model));
  add(entries, entries_of_use(model));
  Weights weights;
  const AnyModel shapes(Scope(weights), config);
  std::vector<GgufTensor> tensors =
      exported_weights(form.names(), config, weights, {model.weights, model.integers}, type);
  if (std::optional<GgufTensor> divisors = gguf_rotary_divisors(config)) {
    tensors.push_back(std::move(*divisors));
  }
  return {
      .form = form.name, .tensors = std::ssize(tensors), .bytes = write_gguf(to, entries, tensors, model.interruption)};
}

}  // namespace heed
