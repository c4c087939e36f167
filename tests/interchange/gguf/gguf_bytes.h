// GGUF files byte by byte, also such as no program would write.
#pragma once

#include <string>
#include <vector>

#include "interchange/archive/archive_files.h"

namespace heed::test {

struct GgufBytes {
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::vector<std::string> pairs = {}, tensors = {};
  std::string data = {};
  size_t alignment = 32;

  std::string all() const {
    Bytes file;
    file.add(std::string_view(magic)).add(version).add<uint64_t>(tensors.size()).add<uint64_t>(pairs.size());
    for (const auto& part : {pairs, tensors}) {
      for (const std::string& bytes : part) {
        file.add(std::string_view(bytes));
      }
    }
    return file.pad_to(alignment).add(std::string_view(data)).text;
  }
};

inline std::string gguf_text(std::string_view text) { return Bytes().add<uint64_t>(text.size()).add(text).text; }

inline std::string gguf_pair(std::string_view key, uint32_t type, std::string_view value) {
  return Bytes().add(std::string_view(gguf_text(key))).add(type).add(value).text;
}

template <class T>
std::string gguf_number(std::string_view key, uint32_t type, T value) {
  return gguf_pair(key, type, Bytes().add(value).text);
}

struct GgufTensorBytes {
  std::string name = "t";
  std::vector<int64_t> extents = {3};  // the fastest first
  uint32_t type = 0;
  uint64_t offset = 0;

  std::string all() const {
    Bytes bytes;
    bytes.add(std::string_view(gguf_text(name))).add(static_cast<uint32_t>(extents.size()));
    for (const int64_t extent : extents) {
      bytes.add(extent);
    }
    return bytes.add(type).add(offset).text;
  }
};

}  // namespace heed::test
