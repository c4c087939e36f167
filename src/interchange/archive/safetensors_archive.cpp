#include "interchange/archive/safetensors_archive.h"

#include <memory>

#include "base/errors.h"
#include "interchange/archive/shard_index.h"
#include "tensor_files/safetensors.h"

namespace heed {
namespace {

const char* const kSingleFile = "model.safetensors";
const char* const kSafetensorsIndex = "model.safetensors.index.json";

}  // namespace

void add_safetensors(const std::filesystem::path& path, TensorArchive& to, const std::string& prefix) {
  const auto opened = std::make_shared<const SafeTensors>(path);
  const size_t file = to.add_file(path, {opened, &opened->file()});
  for (const StoredTensor& tensor : opened->tensors()) {
    to.add({prefix + tensor.name, foreign_type(tensor.type), tensor.shape, tensor.bytes, file});
  }
}

bool has_safetensors(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / kSingleFile) || std::filesystem::exists(folder / kSafetensorsIndex);
}

TensorArchive open_safetensors_archive(const std::filesystem::path& path) {
  const bool is_folder = std::filesystem::is_directory(path);
  require<FormatError>(!is_folder || has_safetensors(path), path.string(), "there is neither {} nor {}", kSingleFile,
                       kSafetensorsIndex);
  if (is_folder && !std::filesystem::exists(path / kSingleFile)) {
    return open_shards(path / kSafetensorsIndex,
                       [](const std::filesystem::path& file, TensorArchive& to) { add_safetensors(file, to); });
  }
  const std::filesystem::path file = is_folder ? path / kSingleFile : path;
  TensorArchive archive(file.string());
  add_safetensors(file, archive);
  return archive;
}

}  // namespace heed
