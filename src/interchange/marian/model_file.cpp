#include "interchange/marian/model_file.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/archive/byte_reader.h"
#include "interchange/archive/zip_file.h"
#include "interchange/marian/npz.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr std::string_view kSettingsName = "special:model.yml";
constexpr uint64_t kBinVersion = 1, kEncryptedVersion = 2;
constexpr uint64_t kItemBytes = 4 * 8;  // the lengths of a name, a shape and data, and a type
constexpr uint64_t kMaxNameBytes = 4096, kMaxBinAxes = 8;

// How the bytes of a type lie. Two forks of the program number integers differently.
enum class Arrangement : uint8_t { plain, with_multiplier, for_one_processor };

struct BinType {
  uint64_t number;
  std::string_view name;
  ForeignType type;
  Arrangement arrangement = Arrangement::plain;
};

constexpr std::array<BinType, 26> kBinTypes{{
    {0x101, "int8", ForeignType::i8},
    {0x102, "int16", ForeignType::i16},
    {0x104, "int32", ForeignType::i32},
    {0x108, "int64", ForeignType::i64},
    {0x201, "uint8", ForeignType::u8},
    {0x202, "uint16", ForeignType::u16},
    {0x204, "uint32", ForeignType::u32},
    {0x208, "uint64", ForeignType::u64},
    {0x402, "float16", ForeignType::f16},
    {0x404, "float32", ForeignType::f32},
    {0x408, "float64", ForeignType::f64},
    {0x4101, "intgemm8", ForeignType::i8, Arrangement::with_multiplier},
    {0x10001, "intgemm8", ForeignType::i8, Arrangement::with_multiplier},
    {0x4102, "intgemm16", ForeignType::i16, Arrangement::with_multiplier},
    {0x10002, "intgemm16", ForeignType::i16, Arrangement::with_multiplier},
    {0x802, "packed16", ForeignType::u16, Arrangement::for_one_processor},
    {0x1801, "packed8avx2", ForeignType::u8, Arrangement::for_one_processor},
    {0x2801, "packed8avx512", ForeignType::u8, Arrangement::for_one_processor},
    {0x18001, "intgemm8ssse3", ForeignType::i8, Arrangement::for_one_processor},
    {0x11001, "intgemm8avx2", ForeignType::i8, Arrangement::for_one_processor},
    {0x12001, "intgemm8avx512", ForeignType::i8, Arrangement::for_one_processor},
    {0x13001, "intgemm8avx512vnni", ForeignType::i8, Arrangement::for_one_processor},
    {0x14002, "intgemm16sse2", ForeignType::i16, Arrangement::for_one_processor},
    {0x11002, "intgemm16avx2", ForeignType::i16, Arrangement::for_one_processor},
    {0x12002, "intgemm16avx512", ForeignType::i16, Arrangement::for_one_processor},
    {0x401, "float8", ForeignType::u8, Arrangement::for_one_processor},
}};

const BinType& bin_type(uint64_t number, const std::string& where, const std::string& name) {
  const auto* const row = std::ranges::find(kBinTypes, number, &BinType::number);
  require<FormatError>(row != kBinTypes.end(), where, "tensor '{}' is of type {:#x}, which is unknown", shown(name),
                       number);
  require<FormatError>(row->arrangement != Arrangement::for_one_processor, where,
                       "tensor '{}' is {}, arranged for one kind of processor: take the model in float32 or intgemm8",
                       shown(name), row->name);
  return *row;
}

struct BinItem {
  uint64_t name_bytes, type, axes, data_bytes;
  std::string name;
  std::vector<int64_t> shape;
};

std::vector<BinItem> read_items(ByteReader& file) {
  const auto version = file.number<uint64_t>("the version");
  require<FormatError>(version != kEncryptedVersion, file.where(), "is encrypted");
  require<FormatError>(version == kBinVersion, file.where(), "is of version {}, expected {}", version, kBinVersion);
  const auto count = file.number<uint64_t>("the number of tensors");
  file.require_room(count, kItemBytes, "tensors");
  std::vector<BinItem> items(count);
  for (BinItem& item : items) {
    item.name_bytes = file.number<uint64_t>("a name's length");
    item.type = file.number<uint64_t>("a type");
    item.axes = file.number<uint64_t>("a number of axes");
    item.data_bytes = file.number<uint64_t>("a size");
    require<FormatError>(item.name_bytes > 0 && item.name_bytes <= kMaxNameBytes && item.axes <= kMaxBinAxes,
                         file.where(), "a tensor with a name of {} bytes and {} axes", item.name_bytes, item.axes);
  }
  for (BinItem& item : items) {
    item.name = file.text(item.name_bytes, "a tensor's name");
    require<FormatError>(item.name.find('\0') == item.name.size() - 1 && !find_invalid_utf8(item.name), file.where(),
                         "the name '{}' is not a text that ends in a zero byte", shown(item.name));
    item.name.pop_back();
  }
  for (BinItem& item : items) {
    for (uint64_t axis = 0; axis < item.axes; ++axis) {
      const auto extent = file.number<int32_t>("a tensor's extent");
      require<FormatError>(extent > 0, file.where(), "tensor '{}' has an extent of {}", shown(item.name), extent);
      item.shape.push_back(extent);
    }
  }
  return items;
}

// The values of integers are followed by what they were multiplied by. Data are padded, so that a tensor's bytes are the
// first of them.
void add_item(BinItem item, std::span<const std::byte> data, const std::string& where, TensorArchive& to) {
  const BinType& type = bin_type(item.type, where, item.name);
  const bool has_multiplier = type.arrangement == Arrangement::with_multiplier;
  if (has_multiplier && item.name.find("Wemb") == std::string::npos) {
    std::ranges::reverse(item.shape);
  }
  const auto bytes = bytes_of(type.type, item.shape);
  require<FormatError>(bytes.has_value() && static_cast<uint64_t>(*bytes) <= data.size(), where,
                       "tensor '{}': {}[{}] is more than its {} bytes", shown(item.name), type.name,
                       fmt::join(item.shape, ", "), data.size());
  const auto size = static_cast<size_t>(*bytes);
  require<FormatError>(!has_multiplier || data.size() - size >= sizeof(float), where,
                       "tensor '{}' has no multiplier after its values", shown(item.name));
  const std::string name = item.name;
  to.add({std::move(item.name), type.type, std::move(item.shape), data.first(size), 0});
  if (has_multiplier) {
    to.set_divisors(name, data.subspan(size, sizeof(float)));
  }
}

std::string characters_in(std::span<const std::byte> bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

void add_bin(ByteReader file, MarianFile& to) {
  std::vector<BinItem> items = read_items(file);
  const auto padding = file.number<uint64_t>("the padding before the tensors");
  file.take(padding, "the padding before the tensors");
  for (BinItem& item : items) {
    const auto data = file.take(item.data_bytes, fmt::format("tensor '{}'", shown(item.name)));
    if (item.name == kSettingsName) {
      to.settings = characters_in(data);
    } else {
      add_item(std::move(item), data, file.where(), to.tensors);
    }
  }
}

// The settings are an array of characters there.
void add_zip_of_arrays(std::span<const std::byte> bytes, const std::string& where, MarianFile& to) {
  TensorArchive all(where);
  all.add_file(where, nullptr);
  add_npz(bytes, 0, where, all);
  for (const ArchiveTensor& tensor : all.tensors()) {
    if (tensor.name == kSettingsName) {
      to.settings = characters_in(tensor.bytes);
    } else {
      to.tensors.add(tensor);
    }
  }
}

}  // namespace

MarianFile open_marian_file(const std::filesystem::path& path) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  const std::span<const std::byte> bytes(mapped->data(), mapped->size());
  MarianFile file{TensorArchive(path.string()), ""};
  file.tensors.add_file(path, mapped);
  if (is_zip(bytes)) {
    add_zip_of_arrays(bytes, path.string(), file);
  } else {
    add_bin(ByteReader(bytes, path.string()), file);
  }
  return file;
}

}  // namespace heed
