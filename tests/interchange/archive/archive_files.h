// Files that tests of archives write.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tensor_files/safetensors.h"

namespace heed::test {

// Little-endian numbers, end to end.
class Bytes {
 public:
  template <class T>
  Bytes& add(T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& add(std::string_view more) {
    text += more;
    return *this;
  }
  Bytes& pad_to(size_t multiple) {
    text.resize((text.size() + multiple - 1) / multiple * multiple);
    return *this;
  }

  std::string text;
};

inline std::span<const std::byte> as_span(const std::string& bytes) { return std::as_bytes(std::span(bytes)); }

// Without waiting for the disk, as tests write thousands of files.
inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A safetensors file with a vector of f32 for each name.
struct NamedFloats {
  std::string name;
  std::vector<float> values;
};

inline void write_floats(const std::filesystem::path& path, const std::vector<NamedFloats>& tensors) {
  std::vector<TensorSource> sources;
  for (const NamedFloats& tensor : tensors) {
    sources.push_back(tensor_source(tensor.name, StoredType::f32, {static_cast<int64_t>(tensor.values.size())},
                                    std::as_bytes(std::span(tensor.values))));
  }
  write_safetensors(path, sources, {});
}

}  // namespace heed::test
