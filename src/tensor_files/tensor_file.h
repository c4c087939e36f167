// Tensors by name, as files hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor_files/stored_type.h"

namespace heed {

using Metadata = std::map<std::string, std::string>;

// A tensor of a file: row-major, little-endian. Files from other programs need not align it to its elements.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::f32;
  std::vector<int64_t> shape;  // empty for a scalar
  // In a mapped file; empty where the file holds the tensor's rows otherwise: TensorFile::rows() puts them together.
  std::span<const std::byte> bytes;

  int64_t elements() const;
  // A vector's rows are its elements.
  int64_t rows() const { return shape.empty() ? 1 : shape.front(); }
  int64_t row_bytes() const { return rows() == 0 ? 0 : elements() / rows() * size_of(type); }
  std::string text() const;  // "encoder.0.attention.query F32[512, 512]"
};

// The tensor with the scales of a matrix of integers.
std::string scales_of(const std::string& weight);

// Neighbouring rows of a tensor.
struct RowSpan {
  int64_t first, count;
};

// Tensors and where they came from. What it hands out lives as long as it does.
class TensorFile {
 public:
  virtual ~TensorFile() = default;
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;

  const std::filesystem::path& path() const { return path_; }  // for messages
  const Metadata& metadata() const { return metadata_; }
  // In the order of their bytes.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const StoredTensor* find(std::string_view name) const;
  const StoredTensor& at(std::string_view name) const;  // FormatError where there is none

  // The bytes of some rows of one of the tensors, in the file or in `buffer`.
  virtual std::span<const std::byte> rows(const StoredTensor& tensor, RowSpan rows,
                                          std::vector<std::byte>& buffer) const;
  // Releases the memory of a tensor's bytes that were read. They may be read again.
  virtual void give_back(std::span<const std::byte> bytes) const = 0;

 protected:
  explicit TensorFile(std::filesystem::path path) : path_(std::move(path)) {}

  void set_metadata(Metadata metadata) { metadata_ = std::move(metadata); }
  void add(StoredTensor tensor);

 private:
  std::filesystem::path path_;
  Metadata metadata_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
};

// Whether a matrix of bytes has a scale for each group of a row: those are in f16, while scales of rows are in f32.
bool has_groups(const TensorFile& file, const StoredTensor& matrix);

}  // namespace heed
