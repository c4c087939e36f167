// Models in safetensors files: one, or shards with an index.
#pragma once

#include <filesystem>
#include <string>

#include "interchange/archive/tensor_archive.h"

namespace heed {

// A file; or a folder with model.safetensors, or else model.safetensors.index.json and the shards that it names.
// FormatError where there is neither, a shard is missing, the index and the shards disagree, or a tensor occurs twice.
TensorArchive open_safetensors_archive(const std::filesystem::path& path);

// Adds a file's tensors to an archive, with this in front of their names.
void add_safetensors(const std::filesystem::path& path, TensorArchive& to, const std::string& prefix = "");

bool has_safetensors(const std::filesystem::path& folder);

}  // namespace heed
