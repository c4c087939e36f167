#include "interchange/gguf/gguf_model.h"

#include <cmath>
#include <utility>

#include "base/errors.h"
#include "interchange/gguf/gguf_families.h"
#include "interchange/gguf/gguf_file.h"
#include "interchange/gguf/gguf_vocabulary.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

// What says nothing about what the model computes; the tokenizer's own keys are read with it.
void pass_over_descriptions(GgufSettings& settings) {
  settings.pass_over({"general.", "quantize.", "split.", "tokenizer."});
}

void read_gguf_defaults(const GgufMetadata& metadata, ForeignModel& model) {
  for_each_gguf_default(model.decoding, [&]<class Value>(const char* key, std::optional<Value>& value) {
    if constexpr (std::is_same_v<Value, int64_t>) {
      value = metadata.find_integer(key);
    } else {
      value = metadata.find_real(key);
      require<FormatError>(std::isfinite(value.value_or(0.0)), metadata.where(), "'{}' is {}, which is not finite", key,
                           value.value_or(0.0));
    }
    if (value) {
      model.origins.push_back(
          {std::filesystem::path(metadata.where()).filename().string(), key, metadata.shown_value(key)});
    }
  });
}

void validate_gguf_config(const ModelConfig& config, const std::string& where) {
  try {
    config.validate();
  } catch (const ConfigError& error) {
    fail<FormatError>(where, "as a model of heed's: {}", error.what());
  }
}

}  // namespace

bool is_gguf_model(const std::filesystem::path& path) {
  return std::filesystem::is_regular_file(path) && is_gguf(path);
}

ForeignModel read_gguf_model(const std::filesystem::path& path) {
  const auto file = std::make_shared<const GgufFile>(open_gguf(path));
  GgufSettings settings(file->metadata);
  const GgufFamily& family = gguf_family_of(settings);
  GgufFamilyModel found = family.read(settings, file->tensors);
  ForeignModel model{.type = std::string(family.architecture),
                     .family = std::string(family.name),
                     .config = std::move(found.config),
                     .names = std::move(found.names),
                     .archive = std::shared_ptr<const TensorArchive>(file, &file->tensors),
                     .origins = {},
                     .unread = {}};
  validate_gguf_config(model.config, settings.where());
  const GgufVocabulary vocabulary(file->metadata);
  model.marks.ends = vocabulary.ends();
  pass_over_descriptions(settings);
  model.origins = settings.origins();
  model.unread = settings.unread();
  for (const SettingOrigin& origin : vocabulary.origins()) {
    model.origins.push_back(origin);
  }
  for (const std::string& key : vocabulary.unread()) {
    model.unread.push_back(key);
  }
  read_gguf_defaults(file->metadata, model);
  return model;
}

std::shared_ptr<const Tokenizer> read_gguf_tokenizer(const std::filesystem::path& path, const ForeignModel& model) {
  const GgufFile file = open_gguf(path);
  return GgufVocabulary(file.metadata).tokenizer(model.config.target_vocabulary);
}

ForeignChat read_gguf_chat(const std::filesystem::path& path) {
  const GgufFile file = open_gguf(path);
  const GgufVocabulary vocabulary(file.metadata);
  std::optional<std::string> text = file.metadata.find_text(kTemplateKey);
  require<FormatError>(!text || !find_invalid_utf8(*text), path.string(), "'{}' is not UTF-8", kTemplateKey);
  return {.text = std::move(text), .bos_token = vocabulary.spelled("bos"), .eos_token = vocabulary.spelled("eos")};
}

}  // namespace heed
