#include "interchange/archive/shard_index.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"

namespace heed {
namespace {

using IndexJson = nlohmann::json;

constexpr uint64_t kMaxIndexBytes = 100'000'000;  // as a safetensors header
constexpr size_t kMaxShards = 10'000;

// The parser keeps the last value of a key that an object has twice.
IndexJson parse_index(const std::string& text, const std::string& where) {
  require_shallow_json(text, where);
  std::vector<std::set<std::string>> keys;
  const auto notice = [&](int, IndexJson::parse_event_t event, IndexJson& parsed) {
    if (event == IndexJson::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == IndexJson::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == IndexJson::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      require<FormatError>(keys.back().insert(key).second, where, "the key '{}' occurs twice", shown(key));
    }
    return true;
  };
  return IndexJson::parse(text, notice, false);
}

}  // namespace

std::map<std::string, std::string, std::less<>> read_shard_index(const std::filesystem::path& path) {
  const std::string where = path.string();
  std::error_code none;
  const uintmax_t size = std::filesystem::file_size(path, none);
  require<FormatError>(none || size <= kMaxIndexBytes, where, "{} bytes, expected up to {}", size, kMaxIndexBytes);
  const IndexJson root = parse_index(read_file(path), where);
  require<FormatError>(root.is_object(), where, "is not a JSON object");
  const auto map = root.find("weight_map");
  require<FormatError>(map != root.end() && map->is_object(), where, "there is no object 'weight_map'");
  std::map<std::string, std::string, std::less<>> index;
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    require<FormatError>(file.is_string(), where, "weight_map: '{}' is not a text", shown(tensor));
    const auto& name = file.get_ref<const std::string&>();
    require<FormatError>(is_plain_name(name), where,
                         "weight_map: '{}' is in '{}', expected the plain name of a file in the same folder",
                         shown(tensor), shown(name));
    if (files.insert(name).second) {
      require<FormatError>(files.size() <= kMaxShards, where, "more than {} shards", kMaxShards);
      require<FormatError>(std::filesystem::is_regular_file(path.parent_path() / name, none), where,
                           "weight_map: the shard {} is not in the folder", shown(name));
    }
    index.emplace(tensor, name);
  }
  require<FormatError>(!index.empty(), where, "weight_map names no tensor");
  return index;
}

TensorArchive open_shards(const std::filesystem::path& index,
                          const std::function<void(const std::filesystem::path&, TensorArchive&)>& add_file) {
  const auto file_of = read_shard_index(index);
  const std::filesystem::path folder = index.parent_path();
  std::set<std::string> files;
  for (const auto& [tensor, file] : file_of) {
    files.insert(file);
  }
  TensorArchive archive(index.string());
  for (const std::string& file : files) {
    add_file(folder / file, archive);
  }
  for (const auto& [name, file] : file_of) {
    const ArchiveTensor* const tensor = archive.find(name);
    require<FormatError>(tensor != nullptr && archive.where(*tensor) == (folder / file).string(), index.string(),
                         "weight_map: there is no tensor '{}' in {}", shown(name), file);
  }
  return archive;
}

}  // namespace heed
