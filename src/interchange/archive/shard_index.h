// The JSON file that says which of several files holds which tensor: {"weight_map": {"TENSOR": "FILE", ...}}.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "interchange/archive/tensor_archive.h"

namespace heed {

// The file of each tensor. FormatError unless the files are named by plain names, and all are there beside the index.
std::map<std::string, std::string, std::less<>> read_shard_index(const std::filesystem::path& path);

// The tensors of all shards, each added by `add_file`. FormatError where a shard lacks a tensor that the index places
// there.
TensorArchive open_shards(const std::filesystem::path& index,
                          const std::function<void(const std::filesystem::path&, TensorArchive&)>& add_file);

}  // namespace heed
