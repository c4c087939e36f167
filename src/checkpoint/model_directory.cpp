#include "checkpoint/model_directory.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "checkpoint/weights.h"
#include "models/config_keys.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "heed-model";
constexpr int kVersion = 1;

// Settings show themselves as TOML, whose plain values are JSON's too.
json to_json(const SettingTable& table) {
  json object = json::object();
  for (const Setting& setting : table.settings) {
    object[setting.name] = json::parse(setting.show());
  }
  return object;
}

SettingValue value_of(const json& value, const Setting& setting, const std::string& where) {
  const bool fits = (setting.type == SettingType::integer && value.is_number_integer()) ||
                    (setting.type == SettingType::number && value.is_number()) ||
                    (setting.type == SettingType::flag && value.is_boolean()) ||
                    (setting.type == SettingType::text && value.is_string());
  require<FormatError>(fits, where, "model.{} is {}", setting.name, value.dump());
  switch (setting.type) {
    case SettingType::integer:
      return value.get<int64_t>();
    case SettingType::number:
      return value.get<double>();
    case SettingType::flag:
      return value.get<bool>();
    default:
      return value.get<std::string>();
  }
}

void from_json(const json& object, const SettingTable& table, const std::string& where) {
  for (const Setting& setting : table.settings) {
    require<FormatError>(object.contains(setting.name), where, "model.{} is missing", setting.name);
    setting.set(where, value_of(object.at(setting.name), setting, where));
  }
  require<FormatError>(object.size() == table.settings.size(), where, "model has {} keys, expected {}", object.size(),
                       table.settings.size());
}

const json& member(const json& object, const char* name, json::value_t type, const std::string& where) {
  const bool there = object.is_object() && object.contains(name) && object.at(name).type() == type;
  require<FormatError>(there, where, "expected \"{}\", {}", name, json(type).type_name());
  return object.at(name);
}

// A file of the folder itself, wherever the text came from.
std::string file_name(const json& object, const char* name, const std::string& where) {
  const auto text = member(object, name, json::value_t::string, where).get<std::string>();
  require<FormatError>(!text.empty() && std::filesystem::path(text).filename() == text, where,
                       "\"{}\" is \"{}\", expected the name of a file in the same folder", name, text);
  return text;
}

ModelDescription parse_description(const std::string& text, const std::string& where) {
  const json root = json::parse(text, nullptr, false);
  require<FormatError>(root.is_object(), where, "is not JSON");
  require<FormatError>(root.value("format", json()) == kFormat, where, "expected \"format\": \"{}\"", kFormat);
  require<FormatError>(root.value("version", json()) == kVersion, where, "version {}, but this program reads {}",
                       root.value("version", json()).dump(), kVersion);
  ModelDescription description;
  from_json(member(root, "model", json::value_t::object, where), model_settings(description.config), where);
  const json& tokenizers = member(root, "tokenizers", json::value_t::object, where);
  description.source_tokenizer = file_name(tokenizers, "source", where);
  description.target_tokenizer = file_name(tokenizers, "target", where);
  try {
    description.config.validate();
  } catch (const ConfigError& error) {
    fail<FormatError>(where, "{}", error.what());
  }
  return description;
}

std::unique_ptr<Tokenizer> load_fitting_tokenizer(const std::filesystem::path& path, int64_t vocabulary,
                                                  std::string_view side) {
  auto tokenizer = load_tokenizer(path);
  require<FormatError>(tokenizer->vocabulary_size() == vocabulary, path.string(),
                       "has {} tokens, but the model's {} vocabulary has {}: they do not belong together",
                       tokenizer->vocabulary_size(), side, vocabulary);
  require<FormatError>(tokenizer->special().bos != kNoToken && tokenizer->special().eos != kNoToken, path.string(),
                       "has no bos or no eos, which translation needs");
  return tokenizer;
}

}  // namespace

void save_description(const ModelFolder& folder, const ModelDescription& description) {
  ModelConfig config = description.config;
  const json root{{"format", kFormat},
                  {"version", kVersion},
                  {"model", to_json(model_settings(config))},
                  {"tokenizers", {{"source", description.source_tokenizer}, {"target", description.target_tokenizer}}}};
  write_file(folder.config(), root.dump(2) + "\n");
}

ModelDescription load_description(const ModelFolder& folder) {
  require<IoError>(std::filesystem::is_directory(folder.path), folder.path.string(),
                   "is not a folder, expected a model directory");
  return parse_description(read_file(folder.config()), folder.config().string());
}

StoredTranslator::StoredTranslator(const ModelFolder& folder, Backend& backend, DType storage,
                                   const std::filesystem::path& weights)
    : description_(load_description(folder)) {
  const ModelConfig& config = description_.config;
  require<FormatError>(config.architecture == Architecture::seq2seq, folder.config().string(),
                       "holds no seq2seq model, which translation needs");
  source_ = load_fitting_tokenizer(folder.path / description_.source_tokenizer, config.source_vocabulary, "source");
  target_ = load_fitting_tokenizer(folder.path / description_.target_tokenizer, config.target_vocabulary, "target");
  model_.emplace(Scope(store_), config);
  store_.allocate(backend, storage, ParameterStore::Gradients::none);
  load_weights(weights.empty() ? folder.weights() : weights, backend, store_);
  store_.pack(backend, ".weight");
  if (config.tying != Tying::none) {
    store_.pack(backend, config.tying == Tying::all ? "source.tokens" : "target.tokens");
  }
}

}  // namespace heed
