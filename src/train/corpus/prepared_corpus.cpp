#include "train/corpus/prepared_corpus.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/checksum.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "tensor_files/safetensors.h"
#include "text/unicode/unicode.h"
#include "text/vocabulary/vocabulary.h"

namespace heed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kDescriptionFile = "prepared.json";
constexpr const char* kArrayFile = "arrays.safetensors";
constexpr const char* kSeal = "checksum";
constexpr std::string_view kPreparedFormat = "heed-prepared-corpus";
constexpr int kPreparedVersion = 1;
constexpr size_t kCheckedAtOnce = size_t{256}
                                  << 20;  // of all arrays, up to which they are checked when the corpus is opened
constexpr std::string_view kBlocks = ".checksums";  // the tensor with the checksums of an array's blocks

StoredType stored_type_of(FieldType type) {
  switch (type) {
    case FieldType::u8:
      return StoredType::u8;
    case FieldType::u16:
      return StoredType::u16;
    case FieldType::i32:
      return StoredType::i32;
    case FieldType::i64:
      return StoredType::i64;
    case FieldType::f64:
      break;
  }
  return StoredType::f64;
}

std::optional<FieldType> part_type(StoredType type) {
  for (const FieldType field : {FieldType::u8, FieldType::u16, FieldType::i32, FieldType::i64, FieldType::f64}) {
    if (stored_type_of(field) == type) {
      return field;
    }
  }
  return std::nullopt;
}

// A checksum of the arrays' names, types, sizes and checksums: with it, all of them are known.
class ArrayList {
 public:
  void add(std::string_view name, StoredType type, size_t bytes, std::span<const uint64_t> checksums) {
    entries_[fmt::format("{} {} {}", name, name_of(type), bytes)] = {checksums.begin(), checksums.end()};
  }
  std::string text() const {
    Checksum checksum;
    for (const auto& [head, checksums] : entries_) {
      checksum.add(std::as_bytes(std::span(head)));
      checksum.add(std::as_bytes(std::span(checksums)));
    }
    return checksum.text();
  }

 private:
  std::map<std::string, std::vector<uint64_t>> entries_;
};

// Wide elements first, which aligns all of them. Returns the checksum of the list.
std::string write_arrays(const fs::path& path, std::vector<FieldsToStore::Array> arrays) {
  std::ranges::stable_sort(arrays, std::greater(), [](const auto& array) { return size_of(array.type); });
  std::vector<std::vector<uint64_t>> checksums;
  checksums.reserve(arrays.size());
  std::vector<TensorSource> tensors;
  tensors.reserve(2 * arrays.size());
  ArrayList list;
  for (const FieldsToStore::Array& array : arrays) {
    checksums.push_back(block_checksums(array.bytes));
    list.add(array.name, stored_type_of(array.type), array.bytes.size(), checksums.back());
    tensors.push_back(tensor_source(array.name + std::string(kBlocks), StoredType::u64,
                                    {static_cast<int64_t>(checksums.back().size())},
                                    std::as_bytes(std::span(checksums.back()))));
  }
  for (const FieldsToStore::Array& array : arrays) {
    const size_t elements = array.bytes.size() / size_of(array.type);
    tensors.push_back(
        tensor_source(array.name, stored_type_of(array.type), {static_cast<int64_t>(elements)}, array.bytes));
  }
  write_safetensors(path, tensors, {});
  return list.text();
}

json json_of(const PreparedSource& source) {
  json files = json::array();
  for (const PreparedSource::File& file : source.files) {
    files.push_back({{"key", file.key},
                     {"name", file.name},
                     {"bytes", file.bytes},
                     {"modified", file.modified},
                     {"checksum", file.checksum}});
  }
  return {{"settings", source.settings}, {"files", std::move(files)}};
}

PreparedSource source_from(const json& root) {
  PreparedSource source{root.at("settings").get<std::map<std::string, std::string>>(), {}};
  source.files.reserve(root.at("files").size());
  for (const json& file : root.at("files")) {
    source.files.push_back({.key = file.at("key").get<std::string>(),
                            .name = file.at("name").get<std::string>(),
                            .bytes = file.at("bytes").get<int64_t>(),
                            .modified = file.at("modified").get<int64_t>(),
                            .checksum = file.at("checksum").get<std::string>()});
  }
  return source;
}

// A checksum of all other keys, in the order in which they are written.
std::string seal_of(json root) {
  root.erase(kSeal);
  return checksum_of(root.dump(2));
}

json write_tokenizers(const fs::path& folder, const Tokenizers& tokenizers) {
  json names = json::array();
  for (size_t i = 0; i < tokenizers.size(); ++i) {
    const auto first = std::ranges::find(tokenizers, tokenizers[i]) - tokenizers.begin();
    const std::string name = fmt::format("{}.tokenizer", first + 1), content = tokenizers[i]->serialize();
    write_file(folder / name, content);
    names.push_back({{"file", name}, {"checksum", checksum_of(content)}});
  }
  return names;
}

std::shared_ptr<const Tokenizer> read_tokenizer(const fs::path& folder, const json& entry) {
  const auto name = entry.at("file").get<std::string>();
  const fs::path path = folder / name;
  require<FormatError>(is_plain_name(name), (folder / kDescriptionFile).string(),
                       "'{}' is not the name of a file in the same folder", shown(name));
  const std::string content = read_file(path);
  require<FormatError>(checksum_of(content) == entry.at("checksum"), path.string(),
                       "is not the tokenizer that the corpus was prepared with: it was damaged or edited");
  return parse_tokenizer(content, path.string());
}

}  // namespace

void write_prepared_corpus(const fs::path& folder, const PreparedSource& source, const Tokenizers& tokenizers,
                           const FieldsToStore& fields) {
  for (const auto& [key, value] : source.settings) {
    require<ConfigError>(!find_invalid_utf8(value), key, "{} is not UTF-8", shown(value));
  }
  json texts = json::object();
  for (const auto& [name, text] : fields.texts()) {
    texts[name] = replace_invalid_utf8(text);
  }
  json root{{"format", kPreparedFormat},
            {"version", kPreparedVersion},
            {"source", json_of(source)},
            {"numbers", fields.numbers()},
            {"texts", std::move(texts)}};
  root["tokenizers"] = write_tokenizers(folder, tokenizers);
  root["arrays"] = write_arrays(folder / kArrayFile, fields.arrays());
  root[kSeal] = seal_of(root);
  write_file(folder / kDescriptionFile, root.dump(2) + "\n");
}

bool holds_prepared_corpus(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / kDescriptionFile, none);
}

std::unique_ptr<const PreparedCorpus> open_prepared_corpus(const Recipe& recipe, TaskSetup& setup) {
  if (recipe.prepared.empty()) {
    return nullptr;
  }
  auto corpus = std::make_unique<const PreparedCorpus>(recipe.prepared);
  corpus->require_recipe(recipe, setup.marks);
  if (setup.tokenizers != nullptr) {
    corpus->require_tokenizers(*setup.tokenizers);
  } else {
    setup.tokenizers = &corpus->tokenizers();
  }
  setup.stored = &corpus->fields();
  return corpus;
}

void take_prepared_corpus(const Recipe& before, Recipe& now, TrainListener& listener) {
  if (!now.prepared.empty() || before.prepared.empty()) {
    return;
  }
  if (holds_prepared_corpus(before.prepared)) {
    now.prepared = before.prepared;
  } else {
    listener.on_message(fmt::format("the prepared corpus in {} is gone: reading the text", before.prepared));
  }
}

PreparedCorpus::PreparedCorpus(fs::path folder) : folder_(std::move(folder)), fields_((folder_ / kArrayFile).string()) {
  require<IoError>(fs::exists(folder_), folder_.string(), "there is no such folder of a prepared corpus");
  require<IoError>(holds_prepared_corpus(folder_), folder_.string(), "holds no prepared corpus: it has no {}",
                   kDescriptionFile);
  read_description();
}

void PreparedCorpus::read_description() {
  const std::string where = (folder_ / kDescriptionFile).string(), content = read_file(where);
  require_shallow_json(content, where);
  const json root = json::parse(content, nullptr, false);
  require<FormatError>(root.is_object(), where, "is not a JSON object: it was cut off or edited");
  try {
    require<FormatError>(root.at("format") == kPreparedFormat, where, "does not describe a prepared corpus");
    require<FormatError>(root.at("version") == kPreparedVersion, where,
                         "version {}, but this program reads {}: prepare it again", shown(root.at("version").dump()),
                         kPreparedVersion);
    require<FormatError>(root.at(kSeal) == seal_of(root), where,
                         "its checksum does not match: it was damaged or edited");
    source_ = source_from(root.at("source"));
    for (const auto& [name, number] : root.at("numbers").get<std::map<std::string, int64_t>>()) {
      fields_.put_number(name, number);
    }
    for (const auto& [name, text] : root.at("texts").get<std::map<std::string, std::string>>()) {
      fields_.put_text(name, text);
    }
    for (const json& entry : root.at("tokenizers")) {
      const bool shared = !tokenizers_.empty() && entry == root.at("tokenizers").front();
      tokenizers_.push_back(shared ? tokenizers_.front() : read_tokenizer(folder_, entry));
    }
    map_arrays(root.at("arrays").get<std::string>());
  } catch (const json::exception&) {
    fail<FormatError>(where, "does not describe a prepared corpus: something is missing or has the wrong type");
  }
}

void PreparedCorpus::map_arrays(const std::string& checksum) {
  const fs::path path = folder_ / kArrayFile;
  const auto file = std::make_shared<const SafeTensors>(path);
  ArrayList list;
  size_t total = 0;
  for (const StoredTensor& tensor : file->tensors()) {
    total += tensor.bytes.size();
    const std::optional<FieldType> type = part_type(tensor.type);
    if (!type) {
      continue;  // checksums; those of no array are not read
    }
    const StoredTensor& blocks = file->at(tensor.name + std::string(kBlocks));
    const auto address = reinterpret_cast<uintptr_t>(tensor.bytes.data());
    require<FormatError>(address % static_cast<size_t>(size_of(tensor.type)) == 0, path.string(),
                         "'{}' is not aligned to its elements", shown(tensor.name));
    require<FormatError>(blocks.type == StoredType::u64, path.string(), "'{}' holds no checksums", shown(blocks.name));
    std::vector<uint64_t> checksums(blocks.bytes.size() / sizeof(uint64_t));
    if (!checksums.empty()) {
      std::memcpy(checksums.data(), blocks.bytes.data(), blocks.bytes.size());
    }
    list.add(tensor.name, tensor.type, tensor.bytes.size(), checksums);
    fields_.put(tensor.name,
                {*type, std::make_shared<CheckedBytes>(tensor.bytes, std::move(checksums), file,
                                                       fmt::format("{}: {}", path.string(), shown(tensor.name)))});
  }
  require<FormatError>(list.text() == checksum, path.string(),
                       "is not the file that {} belongs to: it was damaged, edited or exchanged", kDescriptionFile);
  for (const StoredTensor& tensor : file->tensors()) {
    if (total <= kCheckedAtOnce && part_type(tensor.type)) {
      fields_.verify(tensor.name);
    }
  }
}

void PreparedCorpus::require_recipe(const Recipe& recipe, const ModelMarks& marks) const {
  require_same_source(source_, recipe, folder_.string());
  const size_t roles = tokenizer_roles(recipe.model.architecture).size();
  require<FormatError>(tokenizers_.size() == roles, folder_.string(), "has {} tokenizers, expected {}",
                       tokenizers_.size(), roles);
  if (recipe.model.architecture == Architecture::seq2seq) {
    for (const auto& tokenizer : tokenizers_) {
      require_sentence_marks(*tokenizer, folder_, marks);
    }
  }
}

void PreparedCorpus::require_tokenizers(const Tokenizers& tokenizers) const {
  ensure(tokenizers.size() == tokenizers_.size(), "prepared corpus", "{} tokenizers", tokenizers.size());
  for (size_t i = 0; i < tokenizers.size(); ++i) {
    require<ConfigError>(tokenizers[i]->serialize() == tokenizers_[i]->serialize(), folder_.string(),
                         "was prepared with another tokenizer than the run has: prepare it again");
  }
}

}  // namespace heed
