// The JSON header of a safetensors file, checked against the format and against the bytes that follow it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor_files/safetensors.h"

namespace heed {

constexpr std::string_view kMetadataName = "__metadata__";
constexpr uint64_t kLengthBytes = 8;               // the header's length comes first
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own library
constexpr size_t kMaxAxes = 64;                    // the limit of NumPy and PyTorch

struct HeaderEntry {
  StoredTensor tensor;  // without its bytes
  uint64_t begin = 0, end = 0;
};

struct SafeTensorsHeader {
  std::vector<HeaderEntry> entries;  // in the order of their bytes
  Metadata metadata;
};

// `where` names the file in messages. FormatError unless the tensors cover `data_bytes` bytes, each once.
SafeTensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& where);

// The bytes of a tensor, or none when they are more than a file can hold.
std::optional<uint64_t> bytes_of(StoredType type, const std::vector<int64_t>& shape);

}  // namespace heed
