// Reads GGUF files, versions 2 and 3.
#pragma once

#include <filesystem>

#include "interchange/archive/tensor_archive.h"
#include "interchange/gguf/gguf_metadata.h"

namespace heed {

// The metadata lie in the archive's mapped file, and live as long as it.
struct GgufFile {
  GgufMetadata metadata;
  TensorArchive tensors;
};

// FormatError, naming the file and the key or the tensor, for anything that the format does not allow, for files in
// several parts, and for types that heed does not read (those with tables, such as IQ2_XS).
GgufFile open_gguf(const std::filesystem::path& path);

// Whether the file begins as one.
bool is_gguf(const std::filesystem::path& path);

}  // namespace heed
