// PyTorch's files of weights: .bin, .pt, .pth.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "interchange/archive/tensor_archive.h"

namespace heed {

// A file; or a folder with pytorch_model.bin, or else pytorch_model.bin.index.json and its shards. Reads both forms of
// torch.save: ZIP files, and the one before torch 1.6. The tensors of dictionaries in dictionaries are named with
// points between: those of {"model": {"a.weight": ...}} "model.a.weight". Views that are not row-major (a transposed
// matrix) are copied, all others are mapped. FormatError for all that is not data (see read_pickle), and for tensors
// that reach beyond their storage.
TensorArchive open_pickle_archive(const std::filesystem::path& path);

bool has_pickle(const std::filesystem::path& folder);

}  // namespace heed
