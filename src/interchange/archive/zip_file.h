// ZIP files whose entries are stored as they are, as PyTorch and NumPy write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct ZipEntry {
  std::string name;
  std::span<const std::byte> bytes;  // in the file
};

// All entries, in the order of the central directory. FormatError, naming `where`, for entries that are compressed or
// encrypted (what a small file expands to is not looked into), that overlap or lie beyond their place, for a name that
// occurs twice, and for files in parts. Checksums are not verified.
std::vector<ZipEntry> read_zip(std::span<const std::byte> file, const std::string& where);

bool is_zip(std::span<const std::byte> file);

}  // namespace heed
