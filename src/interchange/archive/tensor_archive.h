// Other programs' files as named tensors, mapped and not copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/files.h"
#include "interchange/archive/foreign_type.h"

namespace heed {

// A tensor by its name in the other program's file: row-major, the slowest dimension first, little-endian. Its bytes are
// not aligned to its elements. They are as many as its type and shape say.
struct ArchiveTensor {
  std::string name;
  ForeignType type = ForeignType::f32;
  std::vector<int64_t> shape;  // empty for a scalar
  std::span<const std::byte> bytes;
  size_t file = 0;  // among the archive's files

  // What the file's integers are multiplied values of: x = q / divisor. f32 values, not aligned: none, one for the whole
  // tensor, or one for each index of the first dimension.
  std::span<const std::byte> divisors = {};

  int64_t elements() const;
  int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  std::string text() const;  // "model.norm.weight F32[512]"
};

// Elements `first`, `first` + 1, ... of a tensor, as floats; values that are not finite come as they are. ShapeError
// beyond the tensor's end. Whole blocks (block_of(tensor.type).elements, from a multiple of it) are read fastest.
void read_floats(const ArchiveTensor& tensor, int64_t first, std::span<float> to);
std::vector<float> read_floats(const ArchiveTensor& tensor);  // all

// The tensors of one file, or of the shards of one model. Bytes live as long as this, also when it is moved. The files
// must not shrink meanwhile.
class TensorArchive {
 public:
  const std::vector<ArchiveTensor>& tensors() const { return tensors_; }
  // By name, or by an alias. nullptr, FormatError where there is none.
  const ArchiveTensor* find(std::string_view name) const;
  const ArchiveTensor& at(std::string_view name) const;
  // Other names of tensors, which the file declares (tied tables).
  const std::map<std::string, std::string, std::less<>>& aliases() const { return aliases_; }

  // The path of the tensor's file, and that of the archive (its only file, or the index of its shards), for messages.
  const std::string& where(const ArchiveTensor& tensor) const { return files_[tensor.file].path; }
  const std::string& where() const { return where_; }

  // Releases the memory of bytes that were read. They may be read again.
  void give_back(std::span<const std::byte> bytes) const;

  // For readers of formats.
  explicit TensorArchive(std::string where) : where_(std::move(where)) {}
  size_t add_file(const std::filesystem::path& path, std::shared_ptr<const MappedFile> file);
  // Bytes that no file has in this order, such as those of a transposed view.
  std::span<const std::byte> keep(std::vector<std::byte> bytes);
  // FormatError for a name that is there already, or bytes of another size than type and shape say.
  void add(ArchiveTensor tensor);
  void replace(ArchiveTensor tensor);  // in the place of the one that has its name
  void add_alias(const std::string& alias, const std::string& name);
  void set_divisors(std::string_view name, std::span<const std::byte> divisors);

 private:
  struct File {
    std::string path;
    std::shared_ptr<const MappedFile> bytes;
  };

  std::string where_;
  std::vector<File> files_;
  std::vector<std::vector<std::byte>> copies_;
  std::vector<ArchiveTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  std::map<std::string, std::string, std::less<>> aliases_;
};

}  // namespace heed
