#include "checkpoint/chat_template_file.h"

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/json_depth.h"
#include "interchange/gguf/gguf_model.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr const char *kTemplateFile = "chat_template.jinja", *kTokenizerConfig = "tokenizer_config.json",
                     *kTemplateKey = "chat_template", *kBosKey = "bos_token", *kEosKey = "eos_token";

json read_tokenizer_config(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    return json::object();
  }
  const std::string text = read_file(path);
  require_shallow_json(text, path.string());
  json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  require<FormatError>(config.is_object(), path.string(), "not a JSON object");
  return config;
}

// A token is a text, or an object with its "content".
std::optional<std::string> token_in(const json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end()) {
    return std::nullopt;
  }
  const json token = found->is_object() ? found->value("content", json()) : *found;
  return token.is_string() ? std::optional(token.get<std::string>()) : std::nullopt;
}

std::optional<std::string> template_in(const json& config, const std::string& where) {
  const auto found = config.find(kTemplateKey);
  if (found == config.end() || found->is_null()) {
    return std::nullopt;
  }
  if (found->is_string()) {
    return found->get<std::string>();
  }
  require<FormatError>(found->is_array(), where, "\"chat_template\" is not a text or a list");
  for (const json& named : *found) {
    if (named.is_object() && named.value("name", json()) == "default" && named.value("template", json()).is_string()) {
      return named["template"].get<std::string>();
    }
  }
  fail<FormatError>(where, "\"chat_template\" has no template of the name \"default\"");
}

StoredChatTemplate with_marks(const std::string& text, const std::string& where, const json& config) {
  return {.chat = ChatTemplate::parse(text, where),
          .bos_token = token_in(config, kBosKey),
          .eos_token = token_in(config, kEosKey)};
}

}  // namespace

std::optional<std::string> chat_template_text(const ModelFolder& folder) {
  if (is_gguf_model(folder.path)) {
    return read_gguf_chat(folder.path).text;
  }
  const std::filesystem::path file = folder.path / kTemplateFile, config_file = folder.path / kTokenizerConfig;
  return std::filesystem::exists(file) ? read_file(file)
                                       : template_in(read_tokenizer_config(config_file), config_file.string());
}

StoredChatTemplate load_chat_template(const ModelFolder& folder) {
  if (is_gguf_model(folder.path)) {
    const ForeignChat chat = read_gguf_chat(folder.path);
    const std::string where = folder.path.string();
    require<ConfigError>(chat.text.has_value(), where, "the model has no chat template");
    return {.chat = ChatTemplate::parse(*chat.text, where + ": chat template"),
            .bos_token = chat.bos_token,
            .eos_token = chat.eos_token};
  }
  const std::filesystem::path file = folder.path / kTemplateFile, config_file = folder.path / kTokenizerConfig;
  const json config = read_tokenizer_config(config_file);
  const bool own_file = std::filesystem::exists(file);
  const std::optional<std::string> text = chat_template_text(folder);
  require<ConfigError>(text.has_value(), folder.path.string(),
                       "the model has no chat template: expected chat_template.jinja, or \"chat_template\" in "
                       "tokenizer_config.json");
  return with_marks(*text, own_file ? file.string() : config_file.string() + ": chat_template", config);
}

StoredChatTemplate load_chat_template(const ModelFolder& folder, const std::filesystem::path& file) {
  return with_marks(read_file(file), file.string(), read_tokenizer_config(folder.path / kTokenizerConfig));
}

void save_chat_template(const ChatTemplate& chat, const ModelFolder& to) {
  write_file(to.path / kTemplateFile, chat.text());
}

void copy_chat_template(const ModelFolder& from, const ModelFolder& to) {
  if (is_gguf_model(from.path)) {
    const ForeignChat chat = read_gguf_chat(from.path);
    if (chat.text) {
      json kept{{kTemplateKey, *chat.text}};
      for (const auto& [key, token] : {std::pair{kBosKey, chat.bos_token}, std::pair{kEosKey, chat.eos_token}}) {
        if (token) {
          kept[key] = *token;
        }
      }
      write_file(to.path / kTokenizerConfig, kept.dump(2) + "\n");
    }
    return;
  }
  const json config = read_tokenizer_config(from.path / kTokenizerConfig);
  const bool own_file = std::filesystem::exists(from.path / kTemplateFile);
  if (!own_file && !config.contains(kTemplateKey)) {
    return;
  }
  if (own_file) {
    write_file(to.path / kTemplateFile, read_file(from.path / kTemplateFile));
  }
  json kept = json::object();
  for (const char* const key : {kTemplateKey, kBosKey, kEosKey}) {
    if (config.contains(key)) {
      kept[key] = config[key];
    }
  }
  if (!kept.empty()) {
    write_file(to.path / kTokenizerConfig, kept.dump(2) + "\n");
  }
}

}  // namespace heed
