// ZIP files byte by byte, also such as no program would write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "archive_files.h"

namespace heed::test {

struct ZipPart {
  std::string name, content;
  uint16_t method = 0, flags = 0;
  // What the directory says in place of the truth.
  std::optional<uint32_t> size = {}, local = {};
  std::string local_name = {};  // empty: the same
};

struct ZipBytes {
  std::vector<ZipPart> parts;
  std::optional<uint16_t> count = {};
  std::optional<uint32_t> directory = {};
  uint16_t disk = 0;

  std::string all() const {
    Bytes file, central;
    for (const ZipPart& part : parts) {
      const auto size = static_cast<uint32_t>(part.content.size());
      const auto local = static_cast<uint32_t>(file.text.size());
      const std::string& local_name = part.local_name.empty() ? part.name : part.local_name;
      file.add(0x04034b50U).add<uint16_t>(20).add(part.flags).add(part.method).add(0U).add(0U).add(size).add(size);
      file.add(static_cast<uint16_t>(local_name.size())).add<uint16_t>(0);
      file.add(std::string_view(local_name)).add(std::string_view(part.content));
      central.add(0x02014b50U).add<uint16_t>(20).add<uint16_t>(20).add(part.flags).add(part.method).add(0U).add(0U);
      central.add(part.size.value_or(size)).add(part.size.value_or(size));
      central.add(static_cast<uint16_t>(part.name.size())).add<uint16_t>(0).add<uint16_t>(0);
      central.add<uint16_t>(0)
          .add<uint16_t>(0)
          .add(0U)
          .add(part.local.value_or(local))
          .add(std::string_view(part.name));
    }
    const auto begin = static_cast<uint32_t>(file.text.size());
    const auto number = count.value_or(static_cast<uint16_t>(parts.size()));
    file.add(std::string_view(central.text)).add(0x06054b50U).add(disk).add<uint16_t>(0).add(number).add(number);
    file.add(static_cast<uint32_t>(central.text.size())).add(directory.value_or(begin)).add<uint16_t>(0);
    return file.text;
  }
};

}  // namespace heed::test
