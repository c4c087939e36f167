// PyTorch's files of weights: .bin, .pt, .pth.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "interchange/archive/tensor_archive.h"

namespace heed {

// A file; or that of a folder, or else the shards of its pytorch_model.bin.index.json. Reads both forms of torch.save:
// ZIP files, and the one before torch 1.6. The tensors of dictionaries in dictionaries are named with
// points between: those of {"model": {"a.weight": ...}} "model.a.weight". Views that are not row-major (a transposed
// matrix) are copied, all others are mapped. FormatError for all that is not data (see read_pickle), and for tensors
// that reach beyond their storage.
TensorArchive open_pickle_archive(const std::filesystem::path& path);

// Adds a file's tensors to an archive, with this in front of their names.
void add_pickle(const std::filesystem::path& path, TensorArchive& to, const std::string& prefix = "");

// The folder's pytorch_model.bin, or else its pytorch_model.pt, model.pt or model.pth.
std::optional<std::filesystem::path> pickle_in(const std::filesystem::path& folder);
// Whether it has such a file or such shards.
bool has_pickle(const std::filesystem::path& folder);

}  // namespace heed
