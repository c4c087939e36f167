// Models in safetensors files: one, or shards with an index.
#pragma once

#include <filesystem>

#include "interchange/archive/tensor_archive.h"

namespace heed {

// A file; or a folder with model.safetensors, or else model.safetensors.index.json and the shards that it names.
// FormatError where there is neither, a shard is missing, the index and the shards disagree, or a tensor occurs twice.
TensorArchive open_safetensors_archive(const std::filesystem::path& path);

bool has_safetensors(const std::filesystem::path& folder);

}  // namespace heed
