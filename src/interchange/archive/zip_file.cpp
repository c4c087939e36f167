#include "interchange/archive/zip_file.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/archive/byte_reader.h"

namespace heed {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndOfDirectory = 0x06054b50,
                   kEndOfDirectory64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kEndBytes = 22, kLocatorBytes = 20, kCentralBytes = 46, kMaxComment = 65535;
constexpr uint32_t kIn64Bits = 0xffffffff;
constexpr uint16_t kEncrypted = 1;

struct Directory {
  uint64_t entries, bytes, begin;
};

struct CentralEntry {
  std::string name;
  uint64_t size, local;
};

uint32_t mark_at(ByteReader file, uint64_t at) {
  file.seek(at, "a ZIP header");
  return file.number<uint32_t>("a ZIP header");
}

// The record at the file's end, before a comment of unknown length.
uint64_t find_end(const ByteReader& file) {
  const uint64_t size = file.left();
  for (uint64_t comment = 0; comment <= kMaxComment && comment + kEndBytes <= size; ++comment) {
    const uint64_t at = size - kEndBytes - comment;
    if (mark_at(file, at) == kEndOfDirectory) {
      ByteReader end = file;
      end.seek(at + kEndBytes - 2, "the end of a ZIP directory");
      if (end.number<uint16_t>("the length of a comment") == comment) {
        return at;
      }
    }
  }
  fail<FormatError>(file.where(), "is not a whole ZIP file: its directory is missing, was the file cut off?");
}

Directory read_directory_64(ByteReader file, uint64_t end) {
  file.seek(end - kLocatorBytes + 8, "a ZIP64 locator");
  file.seek(file.number<uint64_t>("a ZIP64 locator"), "the end of a ZIP64 directory");
  require<FormatError>(file.number<uint32_t>("a ZIP64 directory") == kEndOfDirectory64, file.where(),
                       "its ZIP64 directory is not where its locator says");
  file.take(8 + 2 + 2 + 4 + 4 + 8, "a ZIP64 directory");
  Directory directory{};
  directory.entries = file.number<uint64_t>("a ZIP64 directory");
  directory.bytes = file.number<uint64_t>("a ZIP64 directory");
  directory.begin = file.number<uint64_t>("a ZIP64 directory");
  return directory;
}

Directory find_directory(ByteReader file) {
  const uint64_t end = find_end(file);
  if (end >= kLocatorBytes && mark_at(file, end - kLocatorBytes) == kLocator64) {
    return read_directory_64(file, end);
  }
  file.seek(end + 4, "a ZIP directory");
  const auto disk = file.number<uint16_t>("a ZIP directory"), first = file.number<uint16_t>("a ZIP directory");
  require<FormatError>(disk == 0 && first == 0, file.where(), "is one part of a ZIP file");
  file.take(2, "a ZIP directory");
  Directory directory{};
  directory.entries = file.number<uint16_t>("a ZIP directory");
  directory.bytes = file.number<uint32_t>("a ZIP directory");
  directory.begin = file.number<uint32_t>("a ZIP directory");
  return directory;
}

// Sizes and offsets of 64 bits follow in an extra field, those that do not fit in 32.
void read_wide_sizes(std::span<const std::byte> extra, const std::string& where, std::span<uint64_t*> values) {
  ByteReader fields(extra, where);
  while (fields.left() >= 4) {
    const auto kind = fields.number<uint16_t>("an extra field"), size = fields.number<uint16_t>("an extra field");
    ByteReader field(fields.take(size, "an extra field"), where);
    for (size_t i = 0; kind == 1 && i < values.size(); ++i) {
      if (*values[i] == kIn64Bits) {
        *values[i] = field.number<uint64_t>("a size of 64 bits");
      }
    }
  }
}

CentralEntry read_central(ByteReader& file) {
  require<FormatError>(file.number<uint32_t>("a ZIP entry") == kCentralHeader, file.where(),
                       "its ZIP directory is broken at byte {}", file.at() - 4);
  file.take(4, "a ZIP entry");
  const auto flags = file.number<uint16_t>("a ZIP entry"), method = file.number<uint16_t>("a ZIP entry");
  file.take(8, "a ZIP entry");
  uint64_t packed = file.number<uint32_t>("a ZIP entry"), size = file.number<uint32_t>("a ZIP entry");
  const auto name_bytes = file.number<uint16_t>("a ZIP entry"), extra_bytes = file.number<uint16_t>("a ZIP entry"),
             comment_bytes = file.number<uint16_t>("a ZIP entry");
  file.take(8, "a ZIP entry");
  uint64_t local = file.number<uint32_t>("a ZIP entry");
  CentralEntry entry{std::string(file.text(name_bytes, "an entry's name")), 0, 0};
  const std::string shown_name = shown(entry.name);
  std::array<uint64_t*, 3> wide{&size, &packed, &local};
  read_wide_sizes(file.take(extra_bytes, "an extra field"), file.where(), wide);
  file.take(comment_bytes, "a comment");
  require<FormatError>((flags & kEncrypted) == 0, file.where(), "the entry {} is encrypted", shown_name);
  require<FormatError>(method == 0 && packed == size, file.where(),
                       "the entry {} is compressed: heed reads stored entries alone", shown_name);
  entry.size = size;
  entry.local = local;
  return entry;
}

struct Extent {
  uint64_t begin, end;
  const std::string* name;
};

// The entry's bytes follow its local header, which says how long its own name is.
std::span<const std::byte> bytes_of_entry(ByteReader file, const CentralEntry& entry) {
  const std::string what = fmt::format("the entry {}", shown(entry.name));
  file.seek(entry.local, what);
  require<FormatError>(file.number<uint32_t>(what) == kLocalHeader, file.where(), "{} does not begin at byte {}", what,
                       entry.local);
  file.take(22, what);
  const auto name_bytes = file.number<uint16_t>(what), extra_bytes = file.number<uint16_t>(what);
  require<FormatError>(file.text(name_bytes, what) == entry.name, file.where(), "{} has another name at byte {}", what,
                       entry.local);
  file.take(extra_bytes, what);
  return file.take(entry.size, what);
}

}  // namespace

bool is_zip(std::span<const std::byte> file) {
  return file.size() >= 4 && mark_at(ByteReader(file, "a file"), 0) == kLocalHeader;
}

std::vector<ZipEntry> read_zip(std::span<const std::byte> bytes, const std::string& where) {
  ByteReader file(bytes, where);
  const Directory directory = find_directory(file);
  file.seek(directory.begin, "the ZIP directory");
  file.require_room(directory.entries, kCentralBytes, "entries in a ZIP directory");
  // What entries hold lies before the directory.
  const ByteReader before(bytes.first(directory.begin), where);
  std::vector<ZipEntry> entries;
  std::vector<Extent> extents;
  std::set<std::string> names;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    CentralEntry entry = read_central(file);
    const auto content = bytes_of_entry(before, entry);
    const auto [name, is_new] = names.insert(entry.name);
    require<FormatError>(is_new, where, "the entry {} occurs twice", shown(entry.name));
    extents.push_back({entry.local, static_cast<uint64_t>(content.data() - bytes.data()) + content.size(), &*name});
    entries.push_back({std::move(entry.name), content});
  }
  std::ranges::sort(extents, {}, &Extent::begin);
  for (size_t i = 1; i < extents.size(); ++i) {
    require<FormatError>(extents[i - 1].end <= extents[i].begin, where, "the entries {} and {} overlap",
                         shown(*extents[i - 1].name), shown(*extents[i].name));
  }
  return entries;
}

}  // namespace heed
