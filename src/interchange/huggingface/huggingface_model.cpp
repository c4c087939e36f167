#include "interchange/huggingface/huggingface_model.h"

#include "base/errors.h"
#include "interchange/archive/safetensors_archive.h"
#include "interchange/huggingface/families/family.h"
#include "interchange/huggingface/generation_settings.h"
#include "interchange/huggingface/sentence_modules.h"
#include "interchange/pickle/pickle_archive.h"

namespace heed {
namespace {

constexpr const char* kConfigFile = "config.json";

TensorArchive open_archive(const std::filesystem::path& folder) {
  if (has_safetensors(folder)) {
    return open_safetensors_archive(folder);
  }
  require<FormatError>(has_pickle(folder), folder.string(),
                       "has neither model.safetensors nor pytorch_model.bin, with or without an index");
  return open_pickle_archive(folder);
}

// What says nothing about the numbers that the model computes.
void pass_over_descriptions(ConfigFile& file) {
  file.pass_over({"architectures",        "model_type",
                  "torch_dtype",          "dtype",
                  "transformers_version", "use_cache",
                  "bos_token_id",         "eos_token_id",
                  "pad_token_id",         "unk_token_id",
                  "_name_or_path",        "auto_map",
                  "initializer_range",    "init_std",
                  "attention_dropout",    "gradient_checkpointing",
                  "pretraining_tp",       "cache_implementation",
                  "rope_theta",           "rope_scaling",
                  "rope_parameters",      "task_specific_params",
                  "problem_type",         "finetuning_task",
                  "torchscript",          "output_attentions",
                  "output_hidden_states", "original_max_position_embeddings"});
}

void validate_config(const ForeignModel& model, const std::string& where) {
  try {
    model.config.validate();
  } catch (const ConfigError& error) {
    fail<FormatError>(where, "as a model of heed's: {}", error.what());
  }
}

}  // namespace

bool is_huggingface_model(const std::filesystem::path& folder) {
  if (has_sentence_modules(folder)) {
    return true;
  }
  if (!std::filesystem::is_regular_file(folder / kConfigFile)) {
    return false;
  }
  try {
    return ConfigFile(folder / kConfigFile).has("model_type");
  } catch (const Error&) {
    return false;
  }
}

ForeignModel read_huggingface_model(const std::filesystem::path& path) {
  const bool has_modules = has_sentence_modules(path);
  const std::filesystem::path folder = has_modules ? encoder_folder(path) : path;
  ConfigFile file(folder / kConfigFile);
  const Family& family = family_of(file);
  ForeignModel model{.type = std::string(family.type),
                     .family = std::string(family.name),
                     .config = {},
                     .names = {},
                     .archive = nullptr,
                     .origins = {},
                     .unread = {}};
  const auto archive = std::make_shared<TensorArchive>(open_archive(folder));
  model.archive = archive;
  FamilySource source{file, *archive};
  model.names = family.exchange(source, model.config);
  model.marks.family = family.type;
  if (has_modules) {
    add_sentence_modules(path, model, *archive);
  }
  if (model.config.architecture != Architecture::encoder) {
    read_generation_settings(folder, file, model);
  }
  pass_over_descriptions(file);
  const std::vector<std::string> unread = file.unread();
  model.origins.insert(model.origins.begin(), file.origins().begin(), file.origins().end());
  model.unread.insert(model.unread.begin(), unread.begin(), unread.end());
  validate_config(model, file.where());
  return model;
}

}  // namespace heed
