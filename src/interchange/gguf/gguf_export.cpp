#include "interchange/gguf/gguf_export.h"

#include <array>
#include <iterator>

#include "checkpoint/adapter.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/stored_weight.h"
#include "checkpoint/weights.h"
#include "interchange/exported_weights.h"
#include "interchange/gguf/gguf.h"
#include "interchange/gguf/gguf_tokenizer.h"
#include "interchange/gpt2_form.h"
#include "interchange/llama_form.h"

namespace heed {
namespace {

// As llama.cpp numbers what most of a file's matrices are.
constexpr std::array<std::pair<GgufType, uint32_t>, 4> kFileTypes{
    {{GgufType::f32, 0}, {GgufType::f16, 1}, {GgufType::q4_0, 2}, {GgufType::q8_0, 7}}};
constexpr uint32_t kVersionOfBlocks = 2;

// A form of model, as llama.cpp names it.
struct Form {
  std::string name;
  void (*require)(const ModelConfig& config, const std::string& where);
  std::vector<GgufEntry> (*entries)(const ModelConfig& config);
  ForeignNames (*names)();
};

// Positions tell the forms apart; what else a form needs is refused by its own name.
Form form_of(const ModelConfig& config) {
  return config.positions == Positions::learned ? Form{"gpt2", require_gpt2_form, gpt2_entries, gpt2_names}
                                                : Form{"llama", require_llama_form, llama_entries, llama_names};
}

std::vector<GgufEntry> general_entries(const ModelFolder& from, const Form& form, GgufType type) {
  const std::filesystem::path folder = std::filesystem::absolute(from.path / ".").lexically_normal().parent_path();
  std::vector<GgufEntry> entries{{"general.architecture", form.name}, {"general.name", folder.filename().string()}};
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

void add(std::vector<GgufEntry>& to, std::vector<GgufEntry> entries) {
  std::ranges::move(entries, std::back_inserter(to));
}

}  // namespace

GgufSummary write_gguf_model(const ModelFolder& from, const std::filesystem::path& to, GgufType type) {
  require<ConfigError>(to.extension() == ".gguf", to.string(), "expected a name that ends in .gguf");
  require<ConfigError>(!holds_adapter(from), from.path.string(),
                       "is an adapter: make a plain model of it first, with heed merge");
  require_architecture(from, Architecture::causal_lm);
  const ModelDescription description = load_description(from);
  const Form form = form_of(description.config);
  form.require(description.config, from.config().string());
  const Tokenizers tokenizers = load_tokenizers(from, description);
  std::vector<GgufEntry> entries = general_entries(from, form, type);
  add(entries, form.entries(description.config));
  add(entries,
      tokenizer_entries(*tokenizers.front(), description.documents.value_or(Documents::none), from.path.string()));
  const SafeTensors stored(from.weights());
  require_weights_of(stored, from, description.config);
  Weights weights;
  const AnyModel model(Scope(weights), description.config);
  for (const Weight& weight : weights.all()) {
    require_stored(stored, weight);
  }
  require_not_quantized(stored);
  verify_checksum(stored);
  const std::vector<GgufTensor> tensors = exported_weights(form.names(), description.config, weights, stored, type);
  return {static_cast<int64_t>(tensors.size()), write_gguf(to, entries, tensors)};
}

}  // namespace heed
