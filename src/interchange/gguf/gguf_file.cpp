#include "interchange/gguf/gguf_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <utility>

#include "base/errors.h"
#include "base/rounding.h"
#include "base/text/excerpt.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr uint32_t kOldestGguf = 2, kNewestGguf = 3;
constexpr uint32_t kMaxGgufAxes = 4;
constexpr uint64_t kMaxGgufName = 1024;
constexpr uint64_t kLeastTensorBytes = 8 + 4 + 4 + 8;  // of the name's length, the axes' number, the type, the offset
constexpr int64_t kDefaultAlignment = 32, kMaxAlignment = 1 << 20;

struct GgufTypeRow {
  uint32_t number;
  std::string_view name;
  std::optional<ForeignType> type = {};  // none: heed does not read it
};

constexpr std::array<GgufTypeRow, 34> kGgufTypes{{
    {0, "F32", ForeignType::f32},
    {1, "F16", ForeignType::f16},
    {2, "Q4_0", ForeignType::q4_0},
    {3, "Q4_1", ForeignType::q4_1},
    {6, "Q5_0", ForeignType::q5_0},
    {7, "Q5_1", ForeignType::q5_1},
    {8, "Q8_0", ForeignType::q8_0},
    {9, "Q8_1"},
    {10, "Q2_K"},
    {11, "Q3_K"},
    {12, "Q4_K", ForeignType::q4_k},
    {13, "Q5_K", ForeignType::q5_k},
    {14, "Q6_K", ForeignType::q6_k},
    {15, "Q8_K"},
    {16, "IQ2_XXS"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {20, "IQ4_NL"},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {23, "IQ4_XS"},
    {24, "I8", ForeignType::i8},
    {25, "I16", ForeignType::i16},
    {26, "I32", ForeignType::i32},
    {27, "I64", ForeignType::i64},
    {28, "F64", ForeignType::f64},
    {29, "IQ1_M"},
    {30, "BF16", ForeignType::bf16},
    {31, "Q4_0_4_4"},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {39, "MXFP4"},
    {40, "NVFP4"},
}};

ForeignType gguf_type(uint32_t number, const std::string& where, std::string_view tensor) {
  const auto* const row = std::ranges::find(kGgufTypes, number, &GgufTypeRow::number);
  require<FormatError>(row != kGgufTypes.end(), where, "tensor '{}' is of type {}, which is unknown", shown(tensor),
                       number);
  require<FormatError>(row->type.has_value(), where,
                       "tensor '{}' is {}, which heed does not read: take a file in F16, Q8_0, Q4_0, Q4_K or Q6_K",
                       shown(tensor), row->name);
  return *row->type;
}

struct TensorEntry {
  ArchiveTensor tensor;  // without its bytes
  uint64_t offset;
};

TensorEntry read_entry(ByteReader& file) {
  TensorEntry entry{};
  const auto length = file.number<uint64_t>("a tensor's name");
  require<FormatError>(length <= kMaxGgufName, file.where(), "a tensor's name of {} bytes, expected up to {}", length,
                       kMaxGgufName);
  entry.tensor.name = file.text(length, "a tensor's name");
  const std::string name = shown(entry.tensor.name);
  require<FormatError>(!find_invalid_utf8(entry.tensor.name), file.where(), "the name of tensor '{}' is not UTF-8",
                       name);
  const auto axes = file.number<uint32_t>("a tensor's axes");
  require<FormatError>(axes <= kMaxGgufAxes, file.where(), "tensor '{}' has {} axes, expected up to {}", name, axes,
                       kMaxGgufAxes);
  for (uint32_t i = 0; i < axes; ++i) {
    const auto extent = file.number<int64_t>("a tensor's extent");
    require<FormatError>(extent > 0, file.where(), "tensor '{}' has an extent of {}", name, extent);
    entry.tensor.shape.push_back(extent);
  }
  std::ranges::reverse(entry.tensor.shape);  // the file has the axis of neighbouring elements first
  entry.tensor.type = gguf_type(file.number<uint32_t>("a tensor's type"), file.where(), entry.tensor.name);
  entry.offset = file.number<uint64_t>("a tensor's offset");
  return entry;
}

uint64_t alignment_of(const GgufMetadata& metadata) {
  constexpr std::string_view kKey = "general.alignment";
  const int64_t alignment = metadata.find_integer(kKey).value_or(kDefaultAlignment);
  require<FormatError>(alignment > 0 && alignment <= kMaxAlignment && std::has_single_bit(uint64_t(alignment)),
                       metadata.where(), "'{}' is {}, expected a power of two up to {}", kKey, alignment,
                       kMaxAlignment);
  return static_cast<uint64_t>(alignment);
}

void require_version(ByteReader& file) {
  require<FormatError>(file.text(kGgufMagic.size(), "the mark 'GGUF'") == kGgufMagic, file.where(),
                       "does not begin with 'GGUF'");
  const auto version = file.number<uint32_t>("the version");
  require<FormatError>((version & 0xffffU) != 0, file.where(), "its numbers are big-endian, which heed does not read");
  require<FormatError>(version >= kOldestGguf && version <= kNewestGguf, file.where(),
                       "is of version {}, expected {} or {}", version, kOldestGguf, kNewestGguf);
}

void require_one_part(const GgufMetadata& metadata) {
  const int64_t parts = metadata.find_integer("split.count").value_or(1);
  require<FormatError>(parts <= 1, metadata.where(), "is one of {} parts: merge them first, by llama-gguf-split",
                       parts);
}

// Each tensor begins where the one before it ends, rounded up: so none overlap, and no sum of sizes is trusted.
void add_tensors(ByteReader& file, std::vector<TensorEntry> entries, uint64_t alignment, TensorArchive& to) {
  if (entries.empty()) {
    return;
  }
  file.skip_to_multiple_of(alignment, "the padding before the tensors");
  const uint64_t begin = file.at();
  for (TensorEntry& entry : entries) {
    const auto size = bytes_of(entry.tensor.type, entry.tensor.shape);
    require<FormatError>(size.has_value(), file.where(),
                         "tensor {} is more than any file holds, or its rows are no whole blocks", entry.tensor.text());
    const uint64_t expected = round_up(file.at() - begin, alignment);
    require<FormatError>(entry.offset == expected, file.where(),
                         "tensor '{}' begins at byte {} of the data, expected {}", shown(entry.tensor.name),
                         entry.offset, expected);
    file.seek(begin + expected, fmt::format("tensor {}", entry.tensor.text()));
    entry.tensor.bytes = file.take(static_cast<uint64_t>(*size), fmt::format("tensor {}", entry.tensor.text()));
    to.add(std::move(entry.tensor));
  }
}

}  // namespace

GgufFile open_gguf(const std::filesystem::path& path) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  ByteReader file({mapped->data(), mapped->size()}, path.string());
  require_version(file);
  const auto tensors = file.number<uint64_t>("the number of tensors");
  const auto pairs = file.number<uint64_t>("the number of pairs of metadata");
  GgufMetadata metadata(file, pairs);
  require_one_part(metadata);
  file.require_room(tensors, kLeastTensorBytes, "tensors");
  std::vector<TensorEntry> entries;
  for (uint64_t i = 0; i < tensors; ++i) {
    entries.push_back(read_entry(file));
  }
  TensorArchive archive(path.string());
  archive.add_file(path, mapped);
  add_tensors(file, std::move(entries), alignment_of(metadata), archive);
  return {std::move(metadata), std::move(archive)};
}

bool is_gguf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(kGgufMagic.size(), '\0');
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kGgufMagic;
}

}  // namespace heed
