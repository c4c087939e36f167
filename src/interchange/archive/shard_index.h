// The JSON file that says which of several files holds which tensor: {"weight_map": {"TENSOR": "FILE", ...}}.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace heed {

struct ShardIndex {
  std::map<std::string, std::string, std::less<>> file_of;  // of each tensor
};

// FormatError unless the files are named by plain names, and all are there beside the index.
ShardIndex read_shard_index(const std::filesystem::path& path);

}  // namespace heed
