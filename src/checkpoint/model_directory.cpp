#include "checkpoint/model_directory.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/excerpt.h"
#include "base/files.h"
#include "base/json_depth.h"
#include "checkpoint/weights.h"
#include "models/config_keys.h"
#include "text/vocabulary.h"

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
  require<FormatError>(fits, where, "model.{} is {}, expected {}", setting.name, shown(value.dump()),
                       in_words(setting.type));
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

void require_known_keys(const json& object, const std::vector<std::string_view>& names, std::string_view what,
                        const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    require<FormatError>(std::ranges::count(names, key) == 1, where, "{} has no key '{}'{}", what, key,
                         suggest_name(key, names));
  }
}

void from_json(const json& object, const SettingTable& table, const std::string& where) {
  for (const Setting& setting : table.settings) {
    require<FormatError>(object.contains(setting.name), where, "model.{} is missing", setting.name);
    setting.set(where, value_of(object.at(setting.name), setting, where));
  }
  std::vector<std::string_view> names;
  for (const Setting& setting : table.settings) {
    names.push_back(setting.name);
  }
  require_known_keys(object, names, "model", where);
}

const json& member(const json& object, const char* name, json::value_t type, const std::string& where) {
  const bool there = object.is_object() && object.contains(name) && object.at(name).type() == type;
  require<FormatError>(there, where, "expected \"{}\", {}", name, json(type).type_name());
  return object.at(name);
}

// A file of the folder itself, wherever the text came from.
std::string file_name(const json& object, const char* name, const std::string& where) {
  auto text = member(object, name, json::value_t::string, where).get<std::string>();
  require<FormatError>(!text.empty() && std::filesystem::path(text).filename() == text, where,
                       "\"{}\" is \"{}\", expected the name of a file in the same folder", name, text);
  return text;
}

std::string optional_text(const json& object, const char* name, const std::string& where) {
  return object.contains(name) ? member(object, name, json::value_t::string, where).get<std::string>() : "";
}

ModelDescription parse_description(const std::string& text, const std::string& where) {
  require_shallow_json(text, where);
  const json root = json::parse(text, nullptr, false);
  require<FormatError>(root.is_object(), where, "is not JSON, or no object: it was cut off or edited");
  require<FormatError>(root.value("format", json()) == kFormat, where, "expected \"format\": \"{}\"", kFormat);
  require<FormatError>(root.value("version", json()) == kVersion, where, "version {}, but this program reads {}",
                       shown(root.value("version", json()).dump()), kVersion);
  ModelDescription description;
  from_json(member(root, "model", json::value_t::object, where), model_settings(description.config), where);
  const json& tokenizers = member(root, "tokenizers", json::value_t::object, where);
  description.source_tokenizer = file_name(tokenizers, "source", where);
  description.target_tokenizer = file_name(tokenizers, "target", where);
  description.source_checksum = optional_text(tokenizers, "source_checksum", where);
  description.target_checksum = optional_text(tokenizers, "target_checksum", where);
  require_known_keys(root, {"format", "version", "model", "tokenizers"}, "it", where);
  require_known_keys(tokenizers, {"source", "target", "source_checksum", "target_checksum"}, "tokenizers", where);
  try {
    description.config.validate();
  } catch (const ConfigError& error) {
    fail<FormatError>(where, "{}", error.what());
  }
  return description;
}

// One side's tokenizer, which must be the one that the model was trained with.
struct TokenizerOfModel {
  std::filesystem::path path;
  std::string_view side;
  int64_t vocabulary;
  std::string_view checksum;  // empty: not known

  std::shared_ptr<const Tokenizer> load() const {
    const std::string content = read_file(path);
    auto tokenizer = parse_tokenizer(content, path.string());
    require<FormatError>(tokenizer->vocabulary_size() == vocabulary, path.string(),
                         "has {} tokens, but the model's {} vocabulary has {}: they do not belong together",
                         tokenizer->vocabulary_size(), side, vocabulary);
    require_sentence_marks(*tokenizer, path);
    const std::string found = checksum_of(content);
    require<FormatError>(checksum.empty() || checksum == found, path.string(),
                         "its checksum is {}, but the model's {} tokenizer has {}: put that one back", found, side,
                         checksum);
    return tokenizer;
  }
};

// A file's checksum, as far as it is there.
void add_checksum(json& tokenizers, const char* name, const std::filesystem::path& path) {
  if (std::filesystem::exists(path)) {
    tokenizers[name] = checksum_of(read_file(path));
  }
}

// Weights of the same shapes may belong to another model, of other heads, say.
void require_mark(const SafeTensors& weights, const ModelFolder& folder, const ModelConfig& config) {
  for (const auto& [key, expected] : mark_of(config)) {
    const auto found = weights.metadata().find(key);
    require<FormatError>(found == weights.metadata().end() || found->second == expected, folder.config().string(),
                         "its model is not the one whose weights {} holds: put the right one back",
                         weights.path().string());
  }
}

// A layer has more tensors than this. What the file cannot hold is refused before it is laid out.
constexpr int64_t kLeastTensorsPerLayer = 4;

void require_enough_tensors(const SafeTensors& weights, const ModelConfig& config) {
  const auto tensors = static_cast<int64_t>(weights.tensors().size());
  const int64_t layers = config.encoder_layers + config.decoder_layers;
  require<FormatError>(tensors >= kLeastTensorsPerLayer * layers, weights.path().string(),
                       "{} tensors, but the model of {} layers has more: they do not belong together", tensors, layers);
}

}  // namespace

void save_description(const ModelFolder& folder, const ModelDescription& description) {
  ModelConfig config = description.config;
  json tokenizers{{"source", description.source_tokenizer}, {"target", description.target_tokenizer}};
  add_checksum(tokenizers, "source_checksum", folder.path / description.source_tokenizer);
  add_checksum(tokenizers, "target_checksum", folder.path / description.target_tokenizer);
  const json root{{"format", kFormat},
                  {"version", kVersion},
                  {"model", to_json(model_settings(config))},
                  {"tokenizers", std::move(tokenizers)}};
  write_file(folder.config(), root.dump(2) + "\n");
}

ModelDescription load_description(const ModelFolder& folder) {
  const std::string path = folder.path.string();
  require<IoError>(std::filesystem::exists(folder.path), path, "there is no such model directory");
  require<IoError>(std::filesystem::is_directory(folder.path), path, "is a file, expected a model directory");
  require<IoError>(std::filesystem::exists(folder.config()), path, "is no model directory: it has no config.json");
  ModelDescription description = parse_description(read_file(folder.config()), folder.config().string());
  for (const std::string& name : {description.source_tokenizer, description.target_tokenizer}) {
    require<IoError>(std::filesystem::exists(folder.path / name), (folder.path / name).string(),
                     "is missing: the model directory is incomplete, copy it again");
  }
  return description;
}

Metadata mark_of(const ModelConfig& config) {
  ModelConfig copy = config;
  return {{"model", checksum_of(to_json(model_settings(copy)).dump())}};
}

void require_sentence_marks(const Tokenizer& tokenizer, const std::filesystem::path& file) {
  require<FormatError>(tokenizer.special().bos != kNoToken && tokenizer.special().eos != kNoToken, file.string(),
                       "has no bos or no eos, which translation needs: learn the tokenizer with both");
}

TokenizerPair load_tokenizers(const ModelFolder& folder, const ModelDescription& description) {
  const ModelConfig& config = description.config;
  const auto source = TokenizerOfModel{folder.path / description.source_tokenizer, "source", config.source_vocabulary,
                                       description.source_checksum}
                          .load();
  if (description.source_tokenizer == description.target_tokenizer &&
      config.source_vocabulary == config.target_vocabulary) {
    return {source, source};
  }
  return {source, TokenizerOfModel{folder.path / description.target_tokenizer, "target", config.target_vocabulary,
                                   description.target_checksum}
                      .load()};
}

StoredTranslator::StoredTranslator(const ModelFolder& folder, Backend& backend, DType storage,
                                   const std::filesystem::path& weights)
    : description_(load_description(folder)) {
  const ModelConfig& config = description_.config;
  require<FormatError>(config.architecture == Architecture::seq2seq, folder.config().string(),
                       "holds no seq2seq model, which translation needs");
  tokenizers_ = load_tokenizers(folder, description_);
  const std::filesystem::path file = weights.empty() ? folder.weights() : weights;
  const SafeTensors stored(file);
  require_enough_tensors(stored, config);
  require_mark(stored, folder, config);
  model_.emplace(Scope(store_), config);
  check_weights(file, store_);
  store_.allocate(backend, storage, ParameterStore::Gradients::none);
  load_weights(file, backend, store_);
  store_.pack(backend, ".weight");
  if (config.tying != Tying::none) {
    store_.pack(backend, config.tying == Tying::all ? "source.tokens" : "target.tokens");
  }
}

}  // namespace heed
