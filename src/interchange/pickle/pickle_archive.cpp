#include "interchange/pickle/pickle_archive.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/archive/shard_index.h"
#include "interchange/archive/zip_file.h"
#include "interchange/pickle/pickled_tensors.h"

namespace heed {
namespace {

constexpr std::array kPickleFiles{"pytorch_model.bin", "pytorch_model.pt", "model.pt", "model.pth"};
const char* const kPickleIndex = "pytorch_model.bin.index.json";
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);  // little-endian
constexpr int64_t kLegacyProtocol = 1001;
constexpr size_t kMaxPickleBytes = size_t{64} << 20;

// Where a file's tensors go, and what stands in front of their names.
struct Destination {
  TensorArchive& archive;
  size_t file;
  const std::string& prefix;
};

using Storages = std::map<std::string, std::span<const std::byte>, std::less<>>;

// The elements of a view, one after the other in row-major order.
std::vector<std::byte> copied(const PickledTensor& tensor, std::span<const std::byte> storage) {
  const auto size = static_cast<size_t>(block_of(tensor.storage.type).bytes);
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.elements()) * size);
  std::vector<int64_t> index(tensor.shape.size(), 0);
  int64_t from = tensor.first;
  for (size_t to = 0; to < bytes.size(); to += size) {
    std::memcpy(bytes.data() + to, storage.data() + static_cast<size_t>(from) * size, size);
    for (size_t axis = index.size(); axis-- > 0;) {
      from += tensor.strides[axis];
      if (++index[axis] < tensor.shape[axis]) {
        break;
      }
      from -= tensor.strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return bytes;
}

void add_pickled(std::vector<PickledTensor> tensors, const Storages& storages, size_t file_bytes,
                 const std::string& where, const Destination& to) {
  size_t copies = 0;
  for (PickledTensor& tensor : tensors) {
    const auto it = storages.find(tensor.storage.key);
    require<FormatError>(it != storages.end(), where, "tensor '{}': its storage {} is not in the file",
                         shown(tensor.name), shown(tensor.storage.key));
    const auto size = static_cast<size_t>(block_of(tensor.storage.type).bytes);
    const auto elements = static_cast<size_t>(tensor.storage.elements);
    require<FormatError>(it->second.size() % size == 0 && it->second.size() / size == elements, where,
                         "tensor '{}': its storage {} has {} bytes, expected {} elements of {}", shown(tensor.name),
                         shown(tensor.storage.key), it->second.size(), elements, size);
    std::span<const std::byte> bytes;
    if (tensor.is_row_major()) {
      const auto count = static_cast<size_t>(tensor.elements());
      bytes = count == 0 ? bytes : it->second.subspan(static_cast<size_t>(tensor.first) * size, count * size);
    } else {
      copies += static_cast<size_t>(tensor.elements()) * size;
      require<FormatError>(copies <= file_bytes, where,
                           "tensor '{}': the views that are not row-major are larger than the file",
                           shown(tensor.name));
      bytes = to.archive.keep(copied(tensor, it->second));
    }
    to.archive.add({to.prefix + tensor.name, tensor.storage.type, std::move(tensor.shape), bytes, to.file});
  }
}

// NAME/data.pkl, and NAME/data/KEY for each storage.
void add_zip(std::span<const std::byte> bytes, const std::string& where, const Destination& to) {
  constexpr std::string_view kPickleName = "data.pkl";
  const std::vector<ZipEntry> entries = read_zip(bytes, where);
  const auto pickle_entry = std::ranges::find_if(entries, [&](const ZipEntry& entry) {
    return entry.name == kPickleName ||
           (entry.name.ends_with(kPickleName) && entry.name.find('/') == entry.name.size() - kPickleName.size() - 1);
  });
  require<FormatError>(pickle_entry != entries.end(), where, "is a ZIP file without data.pkl, not one of torch.save");
  require<FormatError>(pickle_entry->bytes.size() <= kMaxPickleBytes, where,
                       "its pickle has {} bytes, expected up to {}", pickle_entry->bytes.size(), kMaxPickleBytes);
  const std::string root = pickle_entry->name.substr(0, pickle_entry->name.size() - kPickleName.size());
  Storages storages;
  for (const ZipEntry& entry : entries) {
    if (entry.name.starts_with(root + "data/")) {
      storages.emplace(entry.name.substr(root.size() + 5), entry.bytes);
    } else if (entry.name == root + "byteorder") {
      const std::string_view order(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
      require<FormatError>(order == "little", where, "its byte order is '{}', expected 'little'", shown(order));
    }
  }
  ByteReader reader(pickle_entry->bytes, where);
  const Pickle pickle = read_pickle(reader);
  add_pickled(pickled_tensors(pickle, where), storages, bytes.size(), where, to);
}

bool begins_as_legacy(std::span<const std::byte> bytes) {
  // PROTO 2, LONG1 of 10 bytes.
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.starts_with(std::string_view("\x80\x02\x8a\x0a", 4)) && text.substr(4).starts_with(kLegacyMagic);
}

// Five pickles: a mark, a version, what system wrote it, the object, the keys of its storages; then each storage after
// its number of elements.
void add_legacy(std::span<const std::byte> bytes, const std::string& where, const Destination& to) {
  ByteReader reader(bytes, where);
  read_pickle(reader);
  const Pickle version = read_pickle(reader);
  require<FormatError>(version[version.root].integer == kLegacyProtocol, where, "is of version {}, expected {}",
                       version[version.root].integer, kLegacyProtocol);
  const Pickle system = read_pickle(reader);
  for (size_t i = 0; i + 1 < system[system.root].items.size(); i += 2) {
    const PickleValue &key = system[system[system.root].items[i]], &value = system[system[system.root].items[i + 1]];
    require<FormatError>(key.text != "little_endian" || value.integer == 1, where, "its numbers are big-endian");
  }
  const Pickle object = read_pickle(reader);
  std::vector<PickledTensor> tensors = pickled_tensors(object, where);
  const Pickle keys = read_pickle(reader);
  std::map<std::string_view, ForeignType> types;
  for (const PickleValue& value : object.values) {
    if (value.kind == PickleKind::persistent) {
      const PickledStorage storage = storage_of(object, value, where);
      const auto [known, is_new] = types.emplace(storage.key, storage.type);
      require<FormatError>(is_new || known->second == storage.type, where, "its storage {} is of two types",
                           shown(storage.key));
    }
  }
  Storages storages;
  for (const uint32_t item : keys[keys.root].items) {
    const std::string_view key = keys[item].text;
    const auto type = types.find(key);
    require<FormatError>(type != types.end(), where, "its storage {} belongs to no tensor", shown(key));
    const auto elements = reader.number<uint64_t>("a storage");
    const auto size = static_cast<uint64_t>(block_of(type->second).bytes);
    reader.require_room(elements, size, "elements in a storage");
    require<FormatError>(storages.emplace(key, reader.take(elements * size, "a storage")).second, where,
                         "its storage {} occurs twice", shown(key));
  }
  add_pickled(std::move(tensors), storages, bytes.size(), where, to);
}

}  // namespace

void add_pickle(const std::filesystem::path& path, TensorArchive& to, const std::string& prefix) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  const std::span<const std::byte> bytes(mapped->data(), mapped->size());
  const Destination destination{to, to.add_file(path, mapped), prefix};
  const std::string where = path.string();
  require<FormatError>(is_zip(bytes) || begins_as_legacy(bytes), where,
                       "is neither a ZIP file nor the older form of torch.save");
  is_zip(bytes) ? add_zip(bytes, where, destination) : add_legacy(bytes, where, destination);
}

std::optional<std::filesystem::path> pickle_in(const std::filesystem::path& folder) {
  for (const char* const name : kPickleFiles) {
    if (std::filesystem::exists(folder / name)) {
      return folder / name;
    }
  }
  return std::nullopt;
}

bool has_pickle(const std::filesystem::path& folder) {
  return pickle_in(folder) || std::filesystem::exists(folder / kPickleIndex);
}

TensorArchive open_pickle_archive(const std::filesystem::path& path) {
  const std::optional<std::filesystem::path> file = std::filesystem::is_directory(path) ? pickle_in(path) : path;
  if (!file) {
    require<FormatError>(has_pickle(path), path.string(), "there is neither {} nor {}", fmt::join(kPickleFiles, ", "),
                         kPickleIndex);
    return open_shards(path / kPickleIndex,
                       [](const std::filesystem::path& shard, TensorArchive& to) { add_pickle(shard, to); });
  }
  TensorArchive archive(file->string());
  add_pickle(*file, archive);
  return archive;
}

}  // namespace heed
