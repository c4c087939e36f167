// The safetensors format: a length, a JSON header that names the tensors, and their bytes end to end.
// docs/models/formats.md says what is read and what is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/interruption.h"
#include "base/system/files.h"
#include "tensor_files/tensor_file.h"

namespace heed {

// A mapped file: opening it reads only the header, and checks all of it. A violation of the format is a FormatError
// with the path, the byte or the tensor, and what was expected. The file must not shrink while it is open.
class SafeTensors final : public TensorFile {
 public:
  explicit SafeTensors(const std::filesystem::path& path);

  const MappedFile& file() const { return file_; }
  void give_back(std::span<const std::byte> bytes) const override { file_.give_back(bytes); }

 private:
  MappedFile file_;
};

// Takes a tensor's next bytes.
using ByteSink = std::function<void(std::span<const std::byte>)>;

// A tensor to be written. Its bytes are requested when their turn comes and may arrive in pieces, so that a model is
// never in memory twice.
struct TensorSource {
  std::string name;
  StoredType type = StoredType::f32;
  std::vector<int64_t> shape;
  std::function<void(const ByteSink&)> bytes;
};

// A source of bytes that exist already, and stay until they are written.
TensorSource tensor_source(std::string name, StoredType type, std::vector<int64_t> shape,
                           std::span<const std::byte> bytes);

// A tensor of another file, some rows at a time. Both must outlive it.
TensorSource tensor_source(const TensorFile& file, const StoredTensor& tensor);

// Writes the tensors in the given order; the file is complete or does not exist. Tensors are stored end to end, from a
// multiple of 64: they are aligned to their elements if wider elements come first, and to 64 bytes if those of a
// multiple of 64 bytes come before all others. FormatError for names that the format can't represent (duplicates,
// "__metadata__", not UTF-8), ShapeError for a source whose bytes do not match its shape, InterruptedError when the
// interruption comes before the last bytes.
void write_safetensors(const std::filesystem::path& target, std::span<const TensorSource> tensors,
                       const Metadata& metadata, const Interruption& interruption = {});

// The same for our own files, with a checksum of the tensors in the metadata.
void write_checked_safetensors(const std::filesystem::path& target, std::span<const TensorSource> tensors,
                               Metadata metadata, const Interruption& interruption = {});
// That checksum of a file's tensors, whether its metadata have it or not.
std::string checksum_of_tensors(const TensorFile& file);
// What becomes of memory that was read.
enum class AfterReading : uint8_t { give_back, keep };
// FormatError for a file without a checksum; for files that only heed writes.
void require_checksum(const TensorFile& file);
// FormatError when a file has a checksum that does not match its tensors, or has none although its metadata have other
// keys of heed's. Files from other programs have neither.
void verify_checksum(const TensorFile& file, AfterReading after = AfterReading::give_back);

}  // namespace heed
