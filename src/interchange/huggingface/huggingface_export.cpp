#include "interchange/huggingface/huggingface_export.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "interchange/huggingface/config_file.h"
#include "interchange/huggingface/generation_settings.h"
#include "interchange/huggingface/huggingface_form.h"
#include "interchange/huggingface/sentence_modules.h"
#include "interchange/huggingface/written_tokenizers.h"
#include "interchange/renamed_weights.h"
#include "tensor_files/safetensors.h"

namespace heed {
namespace {

using WrittenJson = nlohmann::json;

// In forms that name the padding themselves the first position is one after the padding's id.
HuggingFaceForm form_of(const ExportedModel& model) {
  HuggingFaceForm form = huggingface_form_of(model.config, model.marks, model.where);
  const int64_t padding = model.tokenizers.front()->special().pad.value;
  const auto named = form.settings.find("pad_token_id");
  require<ConfigError>(named == form.settings.end() || named->get<int64_t>() == padding, model.where,
                       "position_offset = {}, but the form of {} needs {}: its positions begin one after the id of the "
                       "padding, which is {} here",
                       model.config.position_offset, form.type, padding + 1, padding);
  return form;
}

void put(WrittenJson& to, const char* key, TokenId token) {
  if (token != kNoToken && !to.contains(key)) {
    to[key] = token.value;
  }
}

// A single token as a number, several as a list.
WrittenJson one_or_list(const std::vector<int32_t>& tokens) {
  return tokens.size() == 1 ? WrittenJson(tokens.front()) : WrittenJson(tokens);
}

// The tokens that a model begins and ends with.
WrittenJson generation_of(const ExportedModel& model) {
  const SpecialTokens& special = model.tokenizers.back()->special();
  WrittenJson tokens = WrittenJson::object();
  const ModelMarks& marks = model.marks;
  if (!marks.ends.empty()) {
    tokens["eos_token_id"] = one_or_list(marks.ends);
  }
  put(tokens, "bos_token_id", special.bos);
  put(tokens, "eos_token_id", special.eos);
  put(tokens, "pad_token_id", model.tokenizers.front()->special().pad);
  if (model.config.architecture == Architecture::seq2seq) {
    const std::vector<int32_t> start =
        marks.target_start.empty() ? std::vector<int32_t>{special.bos.value} : marks.target_start;
    tokens["decoder_start_token_id"] = start.front();
    if (start.size() > 1) {
      tokens["forced_bos_token_id"] = one_or_list({start.begin() + 1, start.end()});
    }
  }
  return tokens;
}

std::string_view torch_name(StoredType type) {
  return type == StoredType::f16 ? "float16" : type == StoredType::bf16 ? "bfloat16" : "float32";
}

// The type of most of the model's bytes: that of its first matrix.
StoredType type_of_most(const std::vector<RenamedTensor>& tensors) {
  const auto found =
      std::ranges::find_if(tensors, [](const RenamedTensor& tensor) { return tensor.shape.size() == 2; });
  return found == tensors.end() ? StoredType::f32 : found->type;
}

void write_configs(const ExportedModel& model, const HuggingFaceForm& form, StoredType type,
                   const std::filesystem::path& folder) {
  WrittenJson config = form.settings;
  const WrittenJson generation = generation_of(model);
  for (const auto& [key, value] : generation.items()) {
    if (!config.contains(key)) {
      config[key] = value;
    }
  }
  config["torch_dtype"] = torch_name(type);
  if (model.config.architecture == Architecture::seq2seq) {
    config["is_encoder_decoder"] = true;
  }
  if (model.marks.output_layer == OutputLayer::missing) {
    config["tie_word_embeddings"] = false;
  }
  write_file(folder / "config.json", config.dump(2) + "\n");
  if (model.config.architecture != Architecture::encoder) {
    ConfigFile file;
    for (const auto& [key, value] : generation.items()) {
      file.write(key, value);
    }
    write_decoding(model, file);
    write_file(folder / "generation_config.json", file.content());
  }
}

TensorSource source_of(const RenamedTensor& tensor, std::string name) {
  return {std::move(name), tensor.type, tensor.shape, [&tensor](const ByteSink& sink) { sink(tensor.bytes()); }};
}

enum class TensorsOf : uint8_t { model, dense_module };

// The names of a module's tensors begin with the module's, which is left out in its own file. Returns the file's bytes.
int64_t write_tensors(const std::vector<RenamedTensor>& tensors, TensorsOf part, const std::filesystem::path& folder,
                      const Interruption& interruption) {
  const std::string module = std::string(kDenseModule) + ".";
  std::vector<TensorSource> sources;
  for (const RenamedTensor& tensor : tensors) {
    const bool of_module = tensor.name.starts_with(module);
    if (of_module == (part == TensorsOf::dense_module)) {
      sources.push_back(source_of(tensor, tensor.name.substr(of_module ? module.size() : 0)));
    }
  }
  const std::filesystem::path file = folder / "model.safetensors";
  write_safetensors(file, sources, {{"format", "pt"}}, interruption);
  return static_cast<int64_t>(std::filesystem::file_size(file));
}

}  // namespace

void require_huggingface_form(const ExportedModel& model) { form_of(model); }

ExportSummary write_huggingface_model(const ExportedModel& model, const std::filesystem::path& folder,
                                      std::optional<StoredType> type) {
  HuggingFaceForm form = form_of(model);
  write_sentence_modules(model, form.names, folder);
  const std::vector<RenamedTensor> tensors =
      renamed_weights(form.names, model.config, model.weights, type, model.where);
  write_huggingface_tokenizers(model, form.type, folder);
  write_configs(model, form, type_of_most(tensors), folder);
  ExportSummary summary{.form = form.type, .tensors = std::ssize(tensors)};
  summary.bytes = write_tensors(tensors, TensorsOf::model, folder, model.interruption);
  if (model.config.text_width > 0 && model.config.architecture == Architecture::encoder) {
    summary.bytes += write_tensors(tensors, TensorsOf::dense_module, folder / kDenseModule, model.interruption);
  }
  return summary;
}

}  // namespace heed
