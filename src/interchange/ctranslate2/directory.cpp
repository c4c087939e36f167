#include "interchange/ctranslate2/directory.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "base/text/json_tree.h"

namespace heed {
namespace {

using CTranslate2Json = nlohmann::json;

constexpr uint32_t kConfigSince = 6;

JsonTree<CTranslate2Json> parse_ctranslate2_json(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  require_shallow_json(text, path.string());
  return parse_json_tree<CTranslate2Json>(
      text, [&](const CTranslate2Json::exception&) { fail<FormatError>(path.string(), "is not JSON"); });
}

class ConfigReader {
 public:
  ConfigReader(JsonTree<CTranslate2Json> tree, std::string where)
      : tree_(std::move(tree)), root_(tree_.root()), where_(std::move(where)) {
    require<FormatError>(root_.is_object(), where_, "is not a JSON object");
  }

  bool has(const char* key) const { return root_.contains(key) && !root_[key].is_null(); }
  void read(const char* key, std::string& to) const {
    if (has(key)) {
      require<FormatError>(root_[key].is_string(), where_, "'{}' is not a text", key);
      to = root_[key].get<std::string>();
    }
  }
  void read(const char* key, bool& to) const {
    if (has(key)) {
      require<FormatError>(root_[key].is_boolean(), where_, "'{}' is neither true nor false", key);
      to = root_[key].get<bool>();
    }
  }
  std::optional<double> number(const char* key) const {
    require<FormatError>(!has(key) || root_[key].is_number(), where_, "'{}' is not a number", key);
    return has(key) ? std::optional(root_[key].get<double>()) : std::nullopt;
  }

 private:
  JsonTree<CTranslate2Json> tree_;
  const CTranslate2Json& root_;
  std::string where_;
};

CTranslate2Config config_of_json(const std::filesystem::path& path) {
  const ConfigReader reader(parse_ctranslate2_json(path), path.string());
  require<FormatError>(!reader.has("quantization_type"), path.string(),
                       "'quantization_type' is of 4-bit quantization, which heed does not read");
  CTranslate2Config config;
  reader.read("unk_token", config.unknown);
  reader.read("bos_token", config.begin);
  reader.read("eos_token", config.end);
  reader.read("add_source_bos", config.adds_source_begin);
  reader.read("add_source_eos", config.adds_source_end);
  config.decoder_start.reset();
  if (reader.has("decoder_start_token")) {
    reader.read("decoder_start_token", config.decoder_start.emplace());
  }
  config.epsilon = reader.number("layer_norm_epsilon");
  require<FormatError>(!config.epsilon || *config.epsilon > 0, path.string(),
                       "'layer_norm_epsilon' is {}, expected > 0", config.epsilon.value_or(0));
  return config;
}

CTranslate2Config config_of_variables(const CTranslate2File& file) {
  CTranslate2Config config;
  config.unknown = file.find_text("unk_token").value_or(config.unknown);
  config.begin = file.find_text("bos_token").value_or(config.begin);
  config.end = file.find_text("eos_token").value_or(config.end);
  const auto flag = [&](std::string_view name, double otherwise) {
    return file.find_number(name).value_or(otherwise) != 0;
  };
  config.adds_source_begin = flag("with_source_bos", 0);
  config.adds_source_end = flag("with_source_eos", 0);
  config.decoder_start = flag("with_target_bos", 1) ? config.begin : config.end;
  if (flag("user_decoder_start_tokens", 0)) {
    config.decoder_start.reset();
  }
  return config;
}

// Carriage returns belong to the tokens, unless every line ends in one.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (std::ranges::all_of(lines, [](const std::string& line) { return line.ends_with('\r'); })) {
    for (std::string& line : lines) {
      line.pop_back();
    }
  }
  return lines;
}

std::vector<std::string> tokens_of_json(const std::filesystem::path& path) {
  const JsonTree<CTranslate2Json> tree = parse_ctranslate2_json(path);
  const CTranslate2Json& root = tree.root();
  require<FormatError>(root.is_array(), path.string(), "is not a list of tokens");
  std::vector<std::string> tokens;
  for (const CTranslate2Json& token : root) {
    require<FormatError>(token.is_string(), path.string(), "token {} is not a text", tokens.size());
    tokens.push_back(token.get<std::string>());
  }
  return tokens;
}

std::optional<std::filesystem::path> find_vocabulary(const std::filesystem::path& directory, const std::string& name) {
  for (const char* const ending : {".json", ".txt"}) {
    if (std::filesystem::path path = directory / (name + ending); std::filesystem::exists(path)) {
      return path;
    }
  }
  return std::nullopt;
}

std::filesystem::path vocabulary_file(const std::filesystem::path& directory, const std::string& name) {
  const auto path = find_vocabulary(directory, name);
  require<FormatError>(path.has_value(), directory.string(), "there is neither {0}.json nor {0}.txt", name);
  return *path;
}

std::vector<std::string> read_tokens(const std::filesystem::path& path, const std::string& unknown) {
  std::vector<std::string> tokens = path.extension() == ".json" ? tokens_of_json(path) : lines_of(read_file(path));
  std::unordered_set<std::string> known;
  for (const std::string& token : tokens) {
    require<FormatError>(known.insert(token).second, path.string(), "the token '{}' occurs twice", shown(token));
  }
  if (!known.contains(unknown)) {
    tokens.push_back(unknown);
  }
  return tokens;
}

}  // namespace

CTranslate2Config read_ctranslate2_config(const std::filesystem::path& directory, const CTranslate2File& file) {
  const std::filesystem::path path = directory / "config.json";
  const bool has_json = std::filesystem::exists(path);
  require<FormatError>(has_json || file.version < kConfigSince, directory.string(), "there is no config.json");
  if (file.version >= kConfigSince) {
    return config_of_json(path);
  }
  CTranslate2Config config = config_of_variables(file);
  config.epsilon = has_json ? config_of_json(path).epsilon : std::nullopt;
  return config;
}

CTranslate2Vocabularies read_ctranslate2_vocabularies(const std::filesystem::path& directory,
                                                      const std::string& unknown) {
  require<FormatError>(!find_vocabulary(directory, "source_1_vocabulary"), directory.string(),
                       "source_1_vocabulary: sources of several parts, which heed does not read");
  if (const auto shared = find_vocabulary(directory, "shared_vocabulary")) {
    std::vector<std::string> tokens = read_tokens(*shared, unknown);
    return {*shared, *shared, tokens, tokens};
  }
  const std::filesystem::path source = vocabulary_file(directory, "source_vocabulary"),
                              target = vocabulary_file(directory, "target_vocabulary");
  return {source, target, read_tokens(source, unknown), read_tokens(target, unknown)};
}

bool is_ctranslate2(const std::filesystem::path& directory) {
  return std::filesystem::exists(directory / "model.bin") &&
         (find_vocabulary(directory, "shared_vocabulary") || find_vocabulary(directory, "target_vocabulary") ||
          find_vocabulary(directory, "vocabulary"));
}

}  // namespace heed
