#include "tensor_files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/checksum.h"
#include "base/errors.h"
#include "base/text/excerpt.h"
#include "tensor_files/safetensors_header.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

const std::string kChecksum = "heed_checksum";
constexpr std::string_view kOwnKeys = "heed_";
constexpr std::string_view kModel = "model";  // mark_of() in checkpoint/model_directory.h

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and its bytes are used unconverted");

// Where each tensor's bytes end. Refuses tensors that could not be read back.
std::vector<uint64_t> lay_out(std::span<const TensorSource> tensors, const std::string& where) {
  std::set<std::string_view> names;
  std::vector<uint64_t> ends;
  uint64_t end = 0;
  for (const TensorSource& tensor : tensors) {
    require<FormatError>(!find_invalid_utf8(tensor.name), where, "the name of tensor {} is not UTF-8", ends.size());
    require<FormatError>(tensor.name != kMetadataName, where, "a tensor can't be named '{}'", tensor.name);
    require<FormatError>(names.insert(tensor.name).second, where, "two tensors named '{}'", shown(tensor.name));
    require<FormatError>(tensor.shape.size() <= kMaxAxes, where, "tensor '{}' has {} axes, expected up to {}",
                         shown(tensor.name), tensor.shape.size(), kMaxAxes);
    const auto size = bytes_of(tensor.type, tensor.shape);
    require<FormatError>(size.has_value() && *size <= INT64_MAX - end, where, "tensor '{}': {}[{}] is not a size",
                         shown(tensor.name), name_of(tensor.type), fmt::join(tensor.shape, ", "));
    ends.push_back(end += *size);
  }
  return ends;
}

std::string quoted(const std::string& text, const std::string& where) {
  require<FormatError>(!find_invalid_utf8(text), where, "metadata '{}' is not UTF-8", shown(text));
  return nlohmann::json(text).dump();
}

constexpr size_t kDataAlignment = 64;

// The length and the JSON, padded so that the data begin at a multiple of kDataAlignment.
std::string header_text(std::span<const TensorSource> tensors, const std::vector<uint64_t>& ends,
                        const Metadata& metadata, const std::string& where) {
  std::vector<std::string> members;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) {
      pairs.push_back(quoted(key, where) + ":" + quoted(value, where));
    }
    members.push_back(fmt::format("\"{}\":{{{}}}", kMetadataName, fmt::join(pairs, ",")));
  }
  uint64_t begin = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    members.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  quoted(tensors[i].name, where), name_of(tensors[i].type),
                                  fmt::join(tensors[i].shape, ","), begin, ends[i]));
    begin = ends[i];
  }
  std::string header = fmt::format("{{{}}}", fmt::join(members, ","));
  const size_t unaligned = (kLengthBytes + header.size()) % kDataAlignment;
  header.append(unaligned == 0 ? 0 : kDataAlignment - unaligned, ' ');
  require<FormatError>(header.size() <= kMaxHeaderBytes, where, "a header of {} bytes, expected up to {}",
                       header.size(), kMaxHeaderBytes);
  const uint64_t length = header.size();
  std::string text(kLengthBytes, '\0');
  std::memcpy(text.data(), &length, kLengthBytes);
  return text + header;
}

// Adds what it writes to the checksum, if there is one.
void write_tensors(AtomicFile& file, std::span<const TensorSource> tensors, const std::vector<uint64_t>& ends,
                   Checksum* checksum, const std::string& where, const Interruption& interruption) {
  uint64_t written = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].bytes([&](std::span<const std::byte> bytes) {
      require_uninterrupted(state_of(interruption), where);
      require(bytes.size() <= ends[i] - written, where, "tensor '{}' gives more bytes than its shape holds",
              shown(tensors[i].name));
      file.write(bytes.data(), bytes.size());
      if (checksum != nullptr) {
        checksum->add_part(bytes);
      }
      written += bytes.size();
    });
    if (checksum != nullptr) {
      checksum->end_parts();
    }
    require(written == ends[i], where, "tensor '{}' gives {} bytes too few", shown(tensors[i].name), ends[i] - written);
  }
}

std::string checksum_of(std::span<const TensorSource> tensors) {
  Checksum checksum;
  for (const TensorSource& tensor : tensors) {
    tensor.bytes([&](std::span<const std::byte> bytes) { checksum.add_part(bytes); });
    checksum.end_parts();
  }
  return checksum.text();
}

// Also where one character of the checksum's own key was damaged.
bool is_of_heed(const TensorFile& file) {
  return std::ranges::any_of(file.metadata(), [](const auto& entry) {
    const std::string& key = entry.first;
    const auto [in_key, in_own] = std::ranges::mismatch(key, kChecksum);
    return key == kModel || key.starts_with(kOwnKeys) ||
           (in_key != key.end() && in_own != kChecksum.end() &&
            std::equal(in_key + 1, key.end(), in_own + 1, kChecksum.end()));
  });
}

}  // namespace

SafeTensors::SafeTensors(const std::filesystem::path& path) : TensorFile(path), file_(path) {
  const std::string where = path.string();
  require<FormatError>(file_.size() >= kLengthBytes, where, "{} bytes are not a safetensors file", file_.size());
  uint64_t length = 0;
  std::memcpy(&length, file_.data(), kLengthBytes);
  require<FormatError>(length <= kMaxHeaderBytes, where, "the header's length at byte 0 is {}, expected up to {}",
                       length, kMaxHeaderBytes);
  require<FormatError>(length <= file_.size() - kLengthBytes, where,
                       "the header's length at byte 0 is {}, but only {} bytes follow", length,
                       file_.size() - kLengthBytes);
  const uint64_t data_begin = kLengthBytes + length;
  const std::string_view json(reinterpret_cast<const char*>(file_.data()) + kLengthBytes, length);
  SafeTensorsHeader header = parse_safetensors_header(json, file_.size() - data_begin, where);
  set_metadata(std::move(header.metadata));
  for (HeaderEntry& entry : header.entries) {
    entry.tensor.bytes = {file_.data() + data_begin + entry.begin, entry.end - entry.begin};
    add(std::move(entry.tensor));
  }
}

TensorSource tensor_source(std::string name, StoredType type, std::vector<int64_t> shape,
                           std::span<const std::byte> bytes) {
  return {std::move(name), type, std::move(shape), [bytes](const ByteSink& sink) { sink(bytes); }};
}

TensorSource tensor_source(const TensorFile& file, const StoredTensor& tensor) {
  return {tensor.name, tensor.type, tensor.shape, [&file, &tensor](const ByteSink& sink) {
            constexpr int64_t kBytesAtOnce = 4 << 20;
            const int64_t at_once = std::max<int64_t>(1, kBytesAtOnce / std::max<int64_t>(1, tensor.row_bytes()));
            std::vector<std::byte> buffer;
            for (int64_t first = 0; first < tensor.rows(); first += at_once) {
              const RowSpan rows{first, std::min(at_once, tensor.rows() - first)};
              sink(file.rows(tensor, rows, buffer));
              file.give_back(tensor.bytes.first(
                  std::min(tensor.bytes.size(), static_cast<size_t>((first + rows.count) * tensor.row_bytes()))));
            }
          }};
}

void write_safetensors(const std::filesystem::path& target, std::span<const TensorSource> tensors,
                       const Metadata& metadata, const Interruption& interruption) {
  const std::string where = target.string();
  const std::vector<uint64_t> ends = lay_out(tensors, where);
  AtomicFile file(target);
  file.write(header_text(tensors, ends, metadata, where));
  write_tensors(file, tensors, ends, nullptr, where, interruption);
  file.commit();
}

// The header comes first and has the checksum of what follows. So that each tensor is read once, it is written again
// when the checksum is known; a pipe takes it only once.
void write_checked_safetensors(const std::filesystem::path& target, std::span<const TensorSource> tensors,
                               Metadata metadata, const Interruption& interruption) {
  const std::string where = target.string();
  const std::vector<uint64_t> ends = lay_out(tensors, where);
  AtomicFile file(target);
  Checksum checksum;
  metadata[kChecksum] = file.in_place() ? checksum_of(tensors) : checksum.text();
  file.write(header_text(tensors, ends, metadata, where));
  write_tensors(file, tensors, ends, file.in_place() ? nullptr : &checksum, where, interruption);
  if (!file.in_place()) {
    metadata[kChecksum] = checksum.text();
    file.replace_beginning(header_text(tensors, ends, metadata, where));
  }
  file.commit();
}

std::string checksum_of_tensors(const TensorFile& file) {
  std::vector<TensorSource> sources;
  std::ranges::transform(file.tensors(), std::back_inserter(sources),
                         [&file](const StoredTensor& tensor) { return tensor_source(file, tensor); });
  return checksum_of(sources);
}

void require_checksum(const TensorFile& file) {
  require<FormatError>(file.metadata().contains(kChecksum), file.path().string(),
                       "its metadata have no '{}', which heed writes: the file was damaged or edited", kChecksum);
}

void verify_checksum(const TensorFile& file, AfterReading after) {
  const auto written = file.metadata().find(kChecksum);
  if (written == file.metadata().end()) {
    if (is_of_heed(file)) {
      require_checksum(file);
    }
    return;
  }
  const auto done_with = [&](std::span<const std::byte> bytes) {
    if (after == AfterReading::give_back) {
      file.give_back(bytes);
    }
  };
  Checksum checksum;
  for (const StoredTensor& tensor : file.tensors()) {
    checksum.add(tensor.bytes, done_with);
    done_with(tensor.bytes);
  }
  require<FormatError>(checksum.text() == written->second, file.path().string(),
                       "its tensors' checksum is {}, but {} is written: the file was damaged or edited",
                       checksum.text(), shown(written->second));
}

}  // namespace heed
