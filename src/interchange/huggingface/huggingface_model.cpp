#include "interchange/huggingface/huggingface_model.h"

#include <optional>

#include "base/errors.h"
#include "interchange/archive/safetensors_archive.h"
#include "interchange/huggingface/family.h"
#include "interchange/huggingface/sentence_modules.h"
#include "interchange/huggingface/written_tokenizers.h"
#include "interchange/pickle/pickle_archive.h"

namespace heed {
namespace {

constexpr const char *kConfigFile = "config.json", *kGenerationFile = "generation_config.json",
                     *kTokenizerConfigFile = "tokenizer_config.json";

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

// Which languages the tokenizer knows: "m2m100", or as heed writes it "none"; empty where the file does not say it.
std::string language_codes(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kTokenizerConfigFile;
  return std::filesystem::exists(file) ? ConfigFile(file).text("language_codes", "") : "";
}

// How the family spells languages as tokens.
std::string language_form(const std::filesystem::path& folder, ConfigFile& file) {
  const std::string type = file.text("model_type"), codes = language_codes(folder);
  if (type == "marian") {
    return ">>{}<<";
  }
  if ((type != "m2m_100" && type != "mbart") || codes == kNoLanguages) {
    return "";
  }
  return type == "m2m_100" && (std::filesystem::exists(folder / "vocab.json") || !codes.empty()) ? "__{}__" : "{}";
}

// What generation_config.json says, or else config.json.
class GenerationSettings {
 public:
  GenerationSettings(const std::filesystem::path& folder, ConfigFile& file) : file_(file) {
    if (std::filesystem::exists(folder / kGenerationFile)) {
      generation_.emplace(folder / kGenerationFile);
    }
  }

  // The tokens of a key; FormatError for one that the model's vocabulary lacks.
  std::vector<int32_t> tokens(std::string_view key, int64_t vocabulary) {
    ConfigFile& from = generation_ && generation_->has(key) ? *generation_ : file_;
    file_.pass_over({key});
    std::vector<int32_t> found;
    for (const int64_t token : from.integers(key)) {
      require<FormatError>(token >= 0 && token < vocabulary, from.where(),
                           "\"{}\" is {}, but the vocabulary has the tokens 0 to {}", key, token, vocabulary - 1);
      found.push_back(static_cast<int32_t>(token));
    }
    return found;
  }

 private:
  ConfigFile& file_;
  std::optional<ConfigFile> generation_;
};

ModelMarks marks_in(const std::filesystem::path& folder, ConfigFile& file, const ModelConfig& config) {
  GenerationSettings settings(folder, file);
  if (config.architecture == Architecture::causal_lm) {
    return {.ends = settings.tokens("eos_token_id", config.target_vocabulary)};
  }
  ModelMarks marks{.target_start = settings.tokens("decoder_start_token_id", config.target_vocabulary),
                   .language_form = language_form(folder, file)};
  require<FormatError>(marks.target_start.size() == 1, file.where(),
                       "has no \"decoder_start_token_id\", and neither has {}: what does a translation begin with?",
                       kGenerationFile);
  const std::vector<int32_t> forced = settings.tokens("forced_bos_token_id", config.target_vocabulary);
  marks.target_start.insert(marks.target_start.end(), forced.begin(), forced.end());
  return marks;
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
  if (model.config.architecture != Architecture::encoder) {
    model.marks = marks_in(folder, file, model.config);
  }
  model.marks.family = family.type;
  if (has_modules) {
    add_sentence_modules(path, model, *archive);
  }
  pass_over_descriptions(file);
  model.origins = file.origins();
  model.unread = file.unread();
  validate_config(model, file.where());
  return model;
}

}  // namespace heed
