#include "checkpoint/stored_shortlist.h"

#include <array>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/marian/marian_model.h"
#include "tensor_files/safetensors.h"
#include "text/vocabulary/vocabulary.h"

namespace heed {
namespace {

constexpr const char* kShortlistFormat = "heed-shortlist";
constexpr const char* kShortlistVersion = "1";
constexpr const char* kFrequent = "frequent";
constexpr const char* kEnds = "ends";
constexpr const char* kTargets = "targets";

// Nothing where the metadata lacks the key.
std::string metadata_of(const SafeTensors& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

template <class T>
std::vector<T> values_of(const SafeTensors& file, const char* name, StoredType type) {
  const StoredTensor& tensor = file.at(name);
  require<FormatError>(tensor.type == type && tensor.shape.size() == 1, file.path().string(),
                       "{}, expected {} in one row", tensor.text(), name_of(type));
  std::vector<T> values(static_cast<size_t>(tensor.elements()));
  if (!values.empty()) {
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  }
  return values;
}

template <class T>
TensorSource source_of(const char* name, StoredType type, const std::vector<T>& values) {
  return tensor_source(name, type, {std::ssize(values)}, std::as_bytes(std::span(values)));
}

void require_tokenizer(const SafeTensors& file, const char* role, const Tokenizer& tokenizer) {
  require<FormatError>(metadata_of(file, role) == checksum_of(tokenizer.serialize()), file.path().string(),
                       "was learned with another {} tokenizer than this model's: learn it again, with heed shortlist",
                       role);
}

// A safetensors file begins with the length of its header, an object of JSON.
bool begins_as_safetensors(const std::filesystem::path& path) {
  constexpr size_t kLength = sizeof(uint64_t);
  std::array<char, kLength + 1> begin{};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), begin.size()) && begin.back() == '{';
}

ShortlistSizes sizes_of_text(const std::filesystem::path& path, const ModelFolder& model) {
  std::optional<MarianShortlist> named;
  if (is_marian(model.path)) {
    named = read_marian_decoder(model.path).shortlist;
  }
  return named && std::filesystem::equivalent(named->file, path) ? named->sizes : ShortlistSizes{};
}

}  // namespace

void save_shortlist(const std::filesystem::path& path, const ShortlistTable& table,
                    const TranslationTokenizers& tokenizers) {
  const std::array tensors{source_of(kEnds, StoredType::i64, table.ends),
                           source_of(kFrequent, StoredType::i32, table.frequent),
                           source_of(kTargets, StoredType::i32, table.targets)};
  write_checked_safetensors(path, tensors,
                            {{"format", kShortlistFormat},
                             {"version", kShortlistVersion},
                             {"source", checksum_of(tokenizers.source.serialize())},
                             {"target", checksum_of(tokenizers.target.serialize())}});
}

Shortlist load_shortlist(const std::filesystem::path& path, const TranslationTokenizers& tokenizers) {
  const SafeTensors file(path);
  const std::string where = path.string();
  require<FormatError>(metadata_of(file, "format") == kShortlistFormat, where,
                       "is not a shortlist: expected a file that heed shortlist wrote");
  require<FormatError>(metadata_of(file, "version") == kShortlistVersion, where,
                       "is a shortlist of version '{}', but this program reads {}", shown(metadata_of(file, "version")),
                       kShortlistVersion);
  require_checksum(file);
  verify_checksum(file);
  require_tokenizer(file, "source", tokenizers.source);
  require_tokenizer(file, "target", tokenizers.target);
  return {{.frequent = values_of<int32_t>(file, kFrequent, StoredType::i32),
           .ends = values_of<int64_t>(file, kEnds, StoredType::i64),
           .targets = values_of<int32_t>(file, kTargets, StoredType::i32)},
          tokenizers,
          where};
}

Shortlist open_shortlist(const std::filesystem::path& path, const ModelFolder& model,
                         const TranslationTokenizers& tokenizers) {
  if (begins_as_safetensors(path)) {
    return load_shortlist(path, tokenizers);
  }
  return {is_binary_shortlist(path) ? read_binary_shortlist(path, tokenizers)
                                    : read_text_shortlist(path, tokenizers, sizes_of_text(path, model)),
          tokenizers, path.string()};
}

}  // namespace heed
