#include "interchange/archive/tensor_archive.h"

#include <functional>
#include <numeric>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {

int64_t ArchiveTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
}

std::string ArchiveTensor::text() const {
  return fmt::format("{} {}[{}]", shown(name), name_of(type), fmt::join(shape, ", "));
}

const ArchiveTensor* TensorArchive::find(std::string_view name) const {
  if (const auto it = index_.find(name); it != index_.end()) {
    return &tensors_[it->second];
  }
  const auto alias = aliases_.find(name);
  return alias == aliases_.end() ? nullptr : &tensors_[index_.find(alias->second)->second];
}

const ArchiveTensor& TensorArchive::at(std::string_view name) const {
  const ArchiveTensor* const tensor = find(name);
  require<FormatError>(tensor != nullptr, where_, "there is no tensor '{}'", shown(name));
  return *tensor;
}

void TensorArchive::give_back(std::span<const std::byte> bytes) const {
  const std::less_equal<const std::byte*> no_later;
  for (const File& file : files_) {
    const std::byte* const begin = file.bytes->data();
    if (no_later(begin, bytes.data()) && no_later(bytes.data() + bytes.size(), begin + file.bytes->size())) {
      file.bytes->give_back(bytes);
      return;
    }
  }
}

size_t TensorArchive::add_file(const std::filesystem::path& path, std::shared_ptr<const MappedFile> file) {
  files_.push_back({path.string(), std::move(file)});
  return files_.size() - 1;
}

std::span<const std::byte> TensorArchive::keep(std::vector<std::byte> bytes) {
  return copies_.emplace_back(std::move(bytes));
}

void TensorArchive::add(ArchiveTensor tensor) {
  const std::string& path = where(tensor);
  const auto size = bytes_of(tensor.type, tensor.shape);
  require<FormatError>(size.has_value(), path, "tensor {} is more than any file holds, or its rows are no whole blocks",
                       tensor.text());
  require<FormatError>(static_cast<size_t>(*size) == tensor.bytes.size(), path,
                       "tensor {} takes {} bytes, but the file has {}", tensor.text(), *size, tensor.bytes.size());
  const auto [other, is_new] = index_.emplace(tensor.name, tensors_.size());
  if (!is_new) {
    const std::string& first = where(tensors_[other->second]);
    fail<FormatError>(path, "tensor '{}' occurs twice{}", shown(tensor.name),
                      first == path ? "" : fmt::format(", and first in {}", first));
  }
  tensors_.push_back(std::move(tensor));
}

void TensorArchive::replace(ArchiveTensor tensor) {
  const auto size = bytes_of(tensor.type, tensor.shape);
  ensure(size.has_value() && static_cast<size_t>(*size) == tensor.bytes.size(), where(tensor), "{} is of {} bytes",
         tensor.text(), tensor.bytes.size());
  const auto place = index_.find(tensor.name);
  ensure(place != index_.end(), where(tensor), "there is no {}", tensor.name);
  tensors_[place->second] = std::move(tensor);
}

void TensorArchive::add_alias(const std::string& alias, const std::string& name) {
  require<FormatError>(index_.contains(name), where_, "'{}' is another name of '{}', which is not there", shown(alias),
                       shown(name));
  require<FormatError>(!index_.contains(alias) && aliases_.emplace(alias, name).second, where_, "'{}' occurs twice",
                       shown(alias));
}

void TensorArchive::set_divisors(std::string_view name, std::span<const std::byte> divisors) {
  ArchiveTensor& tensor = tensors_[index_.find(name)->second];
  const size_t count = divisors.size() / sizeof(float);
  const size_t rows = tensor.shape.empty() ? 1 : static_cast<size_t>(tensor.shape.front());
  require<FormatError>(divisors.size() % sizeof(float) == 0 && (count == 1 || count == rows), where(tensor),
                       "{} scales for tensor {}, expected one, or one for each row", count, tensor.text());
  tensor.divisors = divisors;
}

}  // namespace heed
