// Marian's .bin files, byte by byte.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interchange/archive/archive_files.h"

namespace heed::test {

struct MarianItem {
  std::string name;
  uint64_t type;
  std::vector<int32_t> shape;
  std::string data;  // padded to a multiple of 256
};

struct MarianBytes {
  uint64_t version = 1;
  std::vector<MarianItem> items = {};
  std::optional<uint64_t> count = {}, padding = {}, name_bytes = {}, data_bytes = {};

  std::string all() const {
    Bytes file;
    file.add(version).add(count.value_or(items.size()));
    const auto padded = [](const std::string& data) { return (data.size() + 255) / 256 * 256; };
    for (const MarianItem& item : items) {
      file.add(name_bytes.value_or(item.name.size() + 1)).add(item.type).add(uint64_t{item.shape.size()});
      file.add(data_bytes.value_or(padded(item.data)));
    }
    for (const MarianItem& item : items) {
      file.add(std::string_view(item.name)).add('\0');
    }
    for (const MarianItem& item : items) {
      for (const int32_t extent : item.shape) {
        file.add(extent);
      }
    }
    const uint64_t gap = 256 - (file.text.size() + 8) % 256;
    file.add(padding.value_or(gap));
    file.text.resize(file.text.size() + gap);
    for (const MarianItem& item : items) {
      file.add(std::string_view(item.data));
      file.text.resize(file.text.size() + padded(item.data) - item.data.size());
    }
    return file.text;
  }
};

}  // namespace heed::test
