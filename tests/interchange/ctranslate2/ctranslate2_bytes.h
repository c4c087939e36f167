// Files of CTranslate2, byte by byte.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interchange/archive/archive_files.h"

namespace heed::test {

struct CTranslate2Variable {
  std::string name;
  std::vector<uint32_t> shape;
  uint8_t type;  // its number, or before version 4 the size of an item
  std::string bytes;
};

struct CTranslate2Bytes {
  uint32_t version = 6;
  std::string spec = "TransformerSpec";
  uint32_t revision = 7;
  std::vector<CTranslate2Variable> variables = {};
  std::vector<std::pair<std::string, std::string>> aliases = {};
  std::optional<uint32_t> count = {};

  std::string all() const {
    Bytes file;
    const auto text = [&file](const std::string& name) {
      file.add(static_cast<uint16_t>(name.size() + 1)).add(std::string_view(name)).add('\0');
    };
    file.add(version);
    text(spec);
    file.add(revision).add(count.value_or(static_cast<uint32_t>(variables.size())));
    for (const CTranslate2Variable& variable : variables) {
      text(variable.name);
      file.add(static_cast<uint8_t>(variable.shape.size()));
      for (const uint32_t extent : variable.shape) {
        file.add(extent);
      }
      const auto size = static_cast<uint32_t>(variable.bytes.size());
      file.add(variable.type).add(version >= 4 ? size : size / variable.type).add(std::string_view(variable.bytes));
    }
    if (version >= 3) {
      file.add(static_cast<uint32_t>(aliases.size()));
      for (const auto& [alias, name] : aliases) {
        text(alias);
        text(name);
      }
    }
    return file.text;
  }
};

}  // namespace heed::test
