#include "checkpoint/model_directory.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "checkpoint/description_json.h"
#include "interchange/foreign_source.h"
#include "models/any_model.h"
#include "models/config_keys.h"
#include "text/vocabulary/vocabulary.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "heed-model";
constexpr int kVersion = 1;
constexpr std::string_view kChecksumEnding = "_checksum";

constexpr std::array kPairRoles{TokenizerRole{"source", &ModelConfig::source_vocabulary},
                                TokenizerRole{"target", &ModelConfig::target_vocabulary}};
constexpr std::array kDecoderRoles{TokenizerRole{"text", &ModelConfig::target_vocabulary}};
constexpr std::array kEncoderRoles{TokenizerRole{"text", &ModelConfig::source_vocabulary}};

// Settings are shown as TOML, whose plain values are valid JSON too.
json to_json(const SettingTable& table) {
  json object = json::object();
  for (const Setting& setting : table.settings) {
    object[setting.name] = json::parse(setting.show());
  }
  return object;
}

// With the former names of settings, and without those added since that change nothing, so that the mark of a model
// stays the same.
json to_marked_json(const SettingTable& table) {
  json object = json::object();
  for (const Setting& setting : table.settings) {
    if (!setting.absent.empty() && setting.show() == setting.absent) {
      continue;
    }
    object[setting.former.empty() ? setting.name : setting.former] = json::parse(setting.show());
  }
  return object;
}

SettingValue value_of(const json& value, const Setting& setting, const std::string& where) {
  const auto is_text = [](const json& item) { return item.is_string(); };
  const auto is_integer = [](const json& item) { return item.is_number_integer(); };
  const auto is_number = [](const json& item) { return item.is_number(); };
  // One value, or a list of several.
  const json several = value.is_array() ? value : json::array({value});
  const bool fits = (setting.type == SettingType::integer && value.is_number_integer()) ||
                    (setting.type == SettingType::number && value.is_number()) ||
                    (setting.type == SettingType::flag && value.is_boolean()) ||
                    (setting.type == SettingType::text && value.is_string()) ||
                    (setting.type == SettingType::list && value.is_array() && std::ranges::all_of(value, is_text)) ||
                    (setting.type == SettingType::integers && std::ranges::all_of(several, is_integer)) ||
                    (setting.type == SettingType::numbers && std::ranges::all_of(several, is_number));
  require<FormatError>(fits, where, "model.{} is {}, expected {}", setting.name, shown(value.dump()),
                       describe(setting.type));
  switch (setting.type) {
    case SettingType::integer:
      return value.get<int64_t>();
    case SettingType::number:
      return value.get<double>();
    case SettingType::flag:
      return value.get<bool>();
    case SettingType::text:
      return value.get<std::string>();
    case SettingType::integers:
      return several.get<std::vector<int64_t>>();
    case SettingType::numbers:
      return several.get<std::vector<double>>();
    case SettingType::list:
      break;
  }
  return value.get<std::vector<std::string>>();
}

void from_json(const json& object, const SettingTable& table, const std::string& where) {
  std::vector<std::string_view> names;
  for (const Setting& setting : table.settings) {
    const bool by_former_name = !setting.former.empty() && object.contains(setting.former);
    const std::string& name = by_former_name ? setting.former : setting.name;
    names.push_back(name);
    if (!setting.absent.empty() && !object.contains(name)) {
      continue;
    }
    require<FormatError>(object.contains(name), where, "model.{} is missing", name);
    setting.set(where, value_of(object.at(name), setting, where));
  }
  require_known_keys(object, names, "model", where);
}

// Only a file in the folder itself, whatever the description says.
std::string file_name(const json& object, const char* name, const std::string& where) {
  auto text = member(object, name, json::value_t::string, where).get<std::string>();
  require<FormatError>(is_plain_name(text), where, "\"{}\" is \"{}\", expected the name of a file in the same folder",
                       name, text);
  return text;
}

std::string optional_text(const json& object, const char* name, const std::string& where) {
  return object.contains(name) ? member(object, name, json::value_t::string, where).get<std::string>() : "";
}

// {"source": "source.tokenizer", "source_checksum": "...", ...}
std::vector<TokenizerFile> parse_tokenizers(const json& object, Architecture architecture, const std::string& where) {
  std::vector<TokenizerFile> files;
  std::vector<std::string> names;
  for (const TokenizerRole& role : tokenizer_roles(architecture)) {
    names.emplace_back(role.name);
    require<FormatError>(object.contains(role.name), where, "names no \"{}\" tokenizer, which {} needs", role.name,
                         describe(architecture));
    files.push_back({file_name(object, names.back().c_str(), where), ""});
    names.push_back(fmt::format("{}{}", role.name, kChecksumEnding));
    files.back().checksum = optional_text(object, names.back().c_str(), where);
  }
  require_known_keys(object, {names.begin(), names.end()}, "tokenizers", where);
  return files;
}

std::optional<Documents> parse_documents(const json& root, const std::string& where) {
  if (!root.contains("documents")) {
    return std::nullopt;
  }
  const auto name = member(root, "documents", json::value_t::string, where).get<std::string>();
  const auto it = std::ranges::find(kDocumentNames, name, &std::pair<std::string_view, Documents>::first);
  require<FormatError>(it != kDocumentNames.end(), where,
                       "\"documents\" is \"{}\", expected \"none\", \"line\", \"file\" or \"blank-line\"", shown(name));
  return it->second;
}

ModelDescription parse_description(const std::string& text, const std::string& where) {
  require_shallow_json(text, where);
  const json root = json::parse(text, nullptr, false);
  require<FormatError>(root.is_object(), where, "is not a JSON object: it was cut off or edited");
  require<FormatError>(root.value("format", json()) == kFormat, where, "expected \"format\": \"{}\"", kFormat);
  require<FormatError>(root.value("version", json()) == kVersion, where, "version {}, but this program reads {}",
                       shown(root.value("version", json()).dump()), kVersion);
  ModelDescription description;
  from_json(member(root, "model", json::value_t::object, where), model_settings(description.config), where);
  std::vector<std::string_view> keys{"format", "version", "model", "tokenizers", "marks", "prompts"};
  if (description.config.architecture != Architecture::encoder) {
    keys.emplace_back("decoding");
  }
  if (description.config.architecture == Architecture::causal_lm) {
    keys.emplace_back("documents");
  } else if (description.config.architecture == Architecture::encoder) {
    keys.emplace_back("pairs");
  }
  require_known_keys(root, keys, "it", where);
  description.documents = parse_documents(root, where);
  if (root.contains("pairs")) {
    const bool pairs = member(root, "pairs", json::value_t::boolean, where).get<bool>();
    description.columns = pairs ? TextColumns::pair : TextColumns::one;
  }
  if (root.contains("marks")) {
    description.marks = parse_marks(member(root, "marks", json::value_t::object, where), description.config, where);
  }
  if (root.contains("prompts")) {
    description.prompts = parse_prompts(member(root, "prompts", json::value_t::object, where), where);
  }
  if (root.contains("decoding")) {
    description.decoding = parse_decoding(member(root, "decoding", json::value_t::object, where), where);
  }
  description.tokenizers = parse_tokenizers(member(root, "tokenizers", json::value_t::object, where),
                                            description.config.architecture, where);
  try {
    description.config.validate();
  } catch (const ConfigError& error) {
    fail<FormatError>(where, "{}", error.what());
  }
  return description;
}

// The tokenizer of one role, which must be the one that the model was trained with.
std::shared_ptr<const Tokenizer> load_tokenizer_of(const TokenizerRole& role, const ModelDescription& description,
                                                   const std::filesystem::path& path, std::string_view checksum) {
  const ModelConfig& config = description.config;
  const std::string content = read_file(path);
  auto tokenizer = parse_tokenizer(content, path.string());
  const int64_t vocabulary = config.*role.vocabulary;
  require<FormatError>(tokenizer->vocabulary_size() == vocabulary, path.string(),
                       "has {} tokens, but the model's {} vocabulary has {}: they do not belong together",
                       tokenizer->vocabulary_size(), role.name, vocabulary);
  const std::string found = checksum_of(content);
  require<FormatError>(checksum.empty() || checksum == found, path.string(),
                       "its checksum is {}, but the model's {} tokenizer has {}: put that one back", found, role.name,
                       checksum);
  return tokenizer;
}

// Writes the tokenizers' files. Returns their names, as parse_tokenizers() reads them.
json save_tokenizers(const ModelFolder& folder, Architecture architecture, const Tokenizers& tokenizers) {
  const std::span<const TokenizerRole> roles = tokenizer_roles(architecture);
  ensure(tokenizers.size() == roles.size(), "model directory", "{} tokenizers for {} roles", tokenizers.size(),
         roles.size());
  const bool one_for_all =
      tokenizers.size() > 1 && std::ranges::equal(tokenizers, Tokenizers(tokenizers.size(), tokenizers.front()));
  json names = json::object();
  for (size_t i = 0; i < roles.size(); ++i) {
    const std::string role(roles[i].name);
    const std::string name = (one_for_all ? "shared" : role) + ".tokenizer";
    const std::string content = tokenizers[i]->serialize();
    write_file(folder.path / name, content);
    names[role] = name;
    names[role + std::string(kChecksumEnding)] = checksum_of(content);
  }
  return names;
}

}  // namespace

std::span<const TokenizerRole> tokenizer_roles(Architecture architecture) {
  switch (architecture) {
    case Architecture::causal_lm:
      return kDecoderRoles;
    case Architecture::encoder:
      return kEncoderRoles;
    case Architecture::seq2seq:
      break;
  }
  return kPairRoles;
}

ModelDescription description_of(const ForeignModel& model) {
  return {.config = model.config,
          .tokenizers = std::vector<TokenizerFile>(tokenizer_roles(model.config.architecture).size()),
          .documents = model.documents,
          .columns = {},
          .marks = model.marks,
          .prompts = model.prompts,
          .decoding = model.decoding};
}

void save_description(const ModelFolder& folder, const ModelConfig& config, const Tokenizers& tokenizers,
                      std::optional<Documents> documents, std::optional<TextColumns> columns) {
  save_description(folder,
                   {.config = config,
                    .tokenizers = {},
                    .documents = documents,
                    .columns = columns,
                    .marks = {},
                    .prompts = {},
                    .decoding = {}},
                   tokenizers);
}

void save_description(const ModelFolder& folder, const ModelDescription& description, const Tokenizers& tokenizers) {
  const ModelConfig& config = description.config;
  json root{{"format", kFormat},
            {"version", kVersion},
            {"tokenizers", save_tokenizers(folder, config.architecture, tokenizers)}};
  ModelConfig copy = config;
  root["model"] = to_json(model_settings(copy));
  if (config.architecture == Architecture::causal_lm && description.documents) {
    const auto it =
        std::ranges::find(kDocumentNames, *description.documents, &std::pair<std::string_view, Documents>::second);
    root["documents"] = it->first;
  }
  if (config.architecture == Architecture::encoder && description.columns) {
    root["pairs"] = *description.columns == TextColumns::pair;
  }
  if (description.marks != ModelMarks{}) {
    root["marks"] = to_json(description.marks);
  }
  if (description.prompts != TextPrompts{}) {
    root["prompts"] = to_json(description.prompts);
  }
  if (description.decoding != DecodingDefaults{}) {
    root["decoding"] = to_json(description.decoding);
  }
  write_file(folder.config(), root.dump(2) + "\n");
}

void require_no_model(const ModelFolder& folder) {
  require<ConfigError>(!std::filesystem::exists(folder.config()) && !std::filesystem::exists(folder.weights()),
                       folder.path.string(), "holds a model already: choose another directory");
}

ModelDescription load_description(const ModelFolder& folder) {
  const std::string path = folder.path.string();
  require<IoError>(std::filesystem::exists(folder.path), path, "there is no such model directory");
  if (is_foreign_model(folder.path)) {
    return description_of(read_foreign_model(folder.path));
  }
  require<IoError>(std::filesystem::is_directory(folder.path), path, "is a file, expected a model directory");
  const bool has_stages = std::filesystem::is_directory(folder.path / "stages");
  require<IoError>(std::filesystem::exists(folder.config()), path, "is not a model directory: it has no config.json{}",
                   has_stages ? fmt::format("; its stages are not finished, and their models are in {}",
                                            (folder.path / "stages").string())
                              : "");
  ModelDescription description = parse_description(read_file(folder.config()), folder.config().string());
  for (const TokenizerFile& file : description.tokenizers) {
    require<IoError>(std::filesystem::exists(folder.path / file.name), (folder.path / file.name).string(),
                     "is missing: the model directory is incomplete, copy it again");
  }
  return description;
}

Tokenizers load_tokenizers(const ModelFolder& folder, const ModelDescription& description) {
  const ModelConfig& config = description.config;
  const auto require_marks = [&](const Tokenizer& tokenizer, const std::filesystem::path& file) {
    if (config.architecture == Architecture::seq2seq) {
      require_sentence_marks(tokenizer, file, description.marks);
    }
  };
  if (is_foreign_model(folder.path)) {
    Tokenizers tokenizers = read_foreign_tokenizers(folder.path, read_foreign_model(folder.path));
    std::ranges::for_each(tokenizers, [&](const auto& tokenizer) { require_marks(*tokenizer, folder.path); });
    return tokenizers;
  }
  const std::span<const TokenizerRole> roles = tokenizer_roles(config.architecture);
  Tokenizers tokenizers;
  for (size_t i = 0; i < roles.size(); ++i) {
    const TokenizerFile& file = description.tokenizers[i];
    // A file that two roles share is loaded once, and checked once if their vocabulary sizes agree.
    const bool shared = i > 0 && file.name == description.tokenizers[i - 1].name &&
                        config.*roles[i].vocabulary == config.*roles[i - 1].vocabulary;
    tokenizers.push_back(shared ? tokenizers.back()
                                : load_tokenizer_of(roles[i], description, folder.path / file.name, file.checksum));
    require_marks(*tokenizers.back(), folder.path / file.name);
  }
  return tokenizers;
}

void require_sentence_marks(const Tokenizer& tokenizer, const std::filesystem::path& file, const ModelMarks& marks) {
  const bool has_begin = tokenizer.special().bos != kNoToken || !marks.target_start.empty();
  require<FormatError>(has_begin && tokenizer.special().eos != kNoToken, file.string(),
                       "has no bos or no eos, which translation needs: learn the tokenizer with both");
}

Metadata mark_of(const ModelConfig& config) {
  ModelConfig copy = config;
  return {{"model", checksum_of(to_marked_json(model_settings(copy)).dump())}};
}

}  // namespace heed
