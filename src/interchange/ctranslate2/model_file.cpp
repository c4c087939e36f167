#include "interchange/ctranslate2/model_file.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/archive/byte_reader.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr uint32_t kOldestBinary = 2, kNewestBinary = 6;
constexpr uint32_t kAliasesSince = 3, kTypesSince = 4;
constexpr uint64_t kLeastVariableBytes = 2 + 1 + 1 + 4;  // an empty name's length, a rank, a type, a size
constexpr uint64_t kLeastAliasBytes = 2 + 2;
constexpr size_t kMaxVariableAxes = 8;
constexpr std::string_view kScaleEnding = "_scale";

// By the number in the file.
constexpr std::array<ForeignType, 6> kVariableTypes{ForeignType::f32, ForeignType::i8,  ForeignType::i16,
                                                    ForeignType::i32, ForeignType::f16, ForeignType::bf16};

// A length, which counts the zero at the end.
std::string read_name(ByteReader& file, std::string_view what) {
  std::string name(file.text(file.number<uint16_t>(what), what));
  require<FormatError>(!name.empty() && name.back() == '\0' && name.find('\0') == name.size() - 1, file.where(),
                       "{} that does not end in a zero byte, at byte {}", what, file.at());
  name.pop_back();
  require<FormatError>(!find_invalid_utf8(name), file.where(), "{} is not UTF-8, at byte {}", what, file.at());
  return name;
}

ForeignType type_of_size(uint32_t bytes, const std::string& where, const std::string& name) {
  require<FormatError>(bytes == 1 || bytes == 2 || bytes == 4, where, "'{}' has items of {} bytes, expected 1, 2 or 4",
                       shown(name), bytes);
  return bytes == 1 ? ForeignType::i8 : bytes == 2 ? ForeignType::i16 : ForeignType::f32;
}

ArchiveTensor read_variable(ByteReader& file, uint32_t version) {
  ArchiveTensor tensor{.name = read_name(file, "a variable's name")};
  const auto rank = file.number<uint8_t>("a variable's rank");
  require<FormatError>(rank <= kMaxVariableAxes, file.where(), "'{}' has {} axes, expected up to {}",
                       shown(tensor.name), rank, kMaxVariableAxes);
  for (uint8_t axis = 0; axis < rank; ++axis) {
    tensor.shape.push_back(file.number<uint32_t>("a variable's extent"));
  }
  const auto type = file.number<uint8_t>("a variable's type");
  uint64_t bytes = file.number<uint32_t>("a variable's size");
  if (version >= kTypesSince) {
    require<FormatError>(type < kVariableTypes.size(), file.where(), "'{}' is of type {}, which is unknown",
                         shown(tensor.name), type);
    tensor.type = kVariableTypes[type];
  } else {
    tensor.type = type_of_size(type, file.where(), tensor.name);
    bytes *= type;
  }
  tensor.bytes = file.take(bytes, fmt::format("variable {}", tensor.text()));
  return tensor;
}

void read_aliases(ByteReader& file, TensorArchive& to) {
  const auto count = file.number<uint32_t>("the number of aliases");
  file.require_room(count, kLeastAliasBytes, "aliases");
  for (uint32_t i = 0; i < count; ++i) {
    const std::string alias = read_name(file, "an alias"), name = read_name(file, "the name of a variable");
    to.add_alias(alias, name);
    if (to.find(name + std::string(kScaleEnding)) != nullptr) {
      to.add_alias(alias + std::string(kScaleEnding), name + std::string(kScaleEnding));
    }
  }
}

// Each matrix of integers is divided by the scale that is named after it.
void find_scales(TensorArchive& archive) {
  std::vector<std::pair<std::string, std::span<const std::byte>>> found;
  for (const ArchiveTensor& tensor : archive.tensors()) {
    const bool is_matrix = tensor.shape.size() >= 2 && tensor.name.ends_with("weight");
    if (!is_matrix || (tensor.type != ForeignType::i8 && tensor.type != ForeignType::i16)) {
      continue;
    }
    const std::string name = tensor.name + std::string(kScaleEnding);
    const ArchiveTensor* const scale = archive.find(name);
    require<FormatError>(scale != nullptr, archive.where(), "there is no '{}', which belongs to {}", shown(name),
                         tensor.text());
    require<FormatError>(scale->type == ForeignType::f32, archive.where(), "{}, expected F32", scale->text());
    found.emplace_back(tensor.name, scale->bytes);
  }
  for (const auto& [name, divisors] : found) {
    archive.set_divisors(name, divisors);
  }
}

}  // namespace

std::optional<double> CTranslate2File::find_number(std::string_view name) const {
  const ArchiveTensor* const tensor = tensors.find(name);
  if (tensor == nullptr) {
    return std::nullopt;
  }
  require<FormatError>(tensor->elements() == 1, tensors.where(), "{}, expected a single number", tensor->text());
  return read_floats(*tensor).front();
}

std::optional<std::string> CTranslate2File::find_text(std::string_view name) const {
  const ArchiveTensor* const tensor = tensors.find(name);
  if (tensor == nullptr) {
    return std::nullopt;
  }
  require<FormatError>(tensor->type == ForeignType::i8 && tensor->shape.size() == 1, tensors.where(),
                       "{}, expected a text", tensor->text());
  return std::string(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
}

CTranslate2File open_ctranslate2_file(const std::filesystem::path& path) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  ByteReader file({mapped->data(), mapped->size()}, path.string());
  CTranslate2File model{0, 0, "", TensorArchive(path.string())};
  model.tensors.add_file(path, mapped);
  model.version = file.number<uint32_t>("the binary version");
  require<FormatError>(model.version >= kOldestBinary && model.version <= kNewestBinary, path.string(),
                       "is of binary version {}, expected {} to {}", model.version, kOldestBinary, kNewestBinary);
  model.spec = read_name(file, "the model's description");
  model.revision = file.number<uint32_t>("the revision");
  const auto variables = file.number<uint32_t>("the number of variables");
  file.require_room(variables, kLeastVariableBytes, "variables");
  for (uint32_t i = 0; i < variables; ++i) {
    ArchiveTensor tensor = read_variable(file, model.version);
    require<FormatError>(!tensor.name.ends_with("/weight_zero"), path.string(),
                         "'{}' is of 4-bit quantization, which heed does not read", shown(tensor.name));
    model.tensors.add(std::move(tensor));
  }
  if (model.version >= kAliasesSince) {
    read_aliases(file, model.tensors);
  }
  require<FormatError>(file.left() == 0, path.string(), "has {} bytes more than its variables", file.left());
  find_scales(model.tensors);
  return model;
}

}  // namespace heed
