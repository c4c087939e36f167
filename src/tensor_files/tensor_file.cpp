#include "tensor_files/tensor_file.h"

#include <fmt/ranges.h>

#include <functional>
#include <numeric>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {

int64_t StoredTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
}

std::string StoredTensor::text() const {
  return fmt::format("{} {}[{}]", shown(name), name_of(type), fmt::join(shape, ", "));
}

std::string scales_of(const std::string& weight) { return weight + ".scales"; }

const StoredTensor* TensorFile::find(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

const StoredTensor& TensorFile::at(std::string_view name) const {
  const StoredTensor* const tensor = find(name);
  require<FormatError>(tensor != nullptr, path_.string(), "there is no tensor '{}'", shown(name));
  return *tensor;
}

std::span<const std::byte> TensorFile::rows(const StoredTensor& tensor, RowSpan rows,
                                            std::vector<std::byte>& /*buffer*/) const {
  const auto row_bytes = static_cast<size_t>(tensor.row_bytes());
  return tensor.bytes.subspan(static_cast<size_t>(rows.first) * row_bytes, static_cast<size_t>(rows.count) * row_bytes);
}

void TensorFile::add(StoredTensor tensor) {
  index_.emplace(tensor.name, tensors_.size());
  tensors_.push_back(std::move(tensor));
}

bool has_groups(const TensorFile& file, const StoredTensor& matrix) {
  const StoredTensor* const scales = matrix.type == StoredType::i8 ? file.find(scales_of(matrix.name)) : nullptr;
  return scales != nullptr && scales->type == StoredType::f16;
}

}  // namespace heed
