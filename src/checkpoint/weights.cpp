#include "checkpoint/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>

#include "ops/trainable.h"

namespace heed {
namespace {

std::span<const std::byte> bytes_of(const View& master) {
  ensure(master.type() == DType::f32, "weights", "masters of {}, expected f32", master);
  const auto* const first = static_cast<const std::byte*>(host_address(master));
  return {first, static_cast<size_t>(master.rows() * master.columns() * size_of(master.type()))};
}

// The file, after checking that it has one tensor for each weight and no others.
SafeTensors fitting_weights(const std::filesystem::path& path, const std::vector<const Weight*>& weights) {
  SafeTensors file(path);
  std::set<std::string_view> names;
  for (const Weight* const weight : weights) {
    const StoredTensor* const tensor = file.find(weight->name());
    require<FormatError>(tensor != nullptr, path.string(), "there is no tensor '{}', which the model has as F32{}",
                         weight->name(), weight->shape());
    require<FormatError>(tensor->type == StoredType::f32 && tensor->shape == stored_shape(weight->shape()),
                         path.string(), "{}, but the model has F32{}", tensor->text(), weight->shape());
    names.insert(weight->name());
  }
  for (const StoredTensor& tensor : file.tensors()) {
    require<FormatError>(names.contains(tensor.name), path.string(), "{} is not a weight of the model", tensor.text());
  }
  return file;
}

void require_finite(std::span<const float> values, const SafeTensors& file, const StoredTensor& tensor) {
  require<FormatError>(std::ranges::all_of(values, [](float x) { return std::isfinite(x); }), file.path().string(),
                       "the weights of '{}' hold values that are not finite", tensor.name);
}

// The rows of a tensor, checked when they are read. Releases the memory of rows read before.
class FileRows {
 public:
  FileRows(const SafeTensors& file, const StoredTensor& tensor, const Shape& shape)
      : file_(file), tensor_(tensor), columns_(shape.columns()) {}
  ~FileRows() { file_.give_back(at_hand_); }
  FileRows(const FileRows&) = delete;
  FileRows& operator=(const FileRows&) = delete;

  View read(int64_t first, int64_t count) {
    file_.give_back(at_hand_);
    const size_t row_bytes = static_cast<size_t>(columns_) * sizeof(float);
    at_hand_ = tensor_.bytes.subspan(static_cast<size_t>(first) * row_bytes, static_cast<size_t>(count) * row_bytes);
    // Copied: files from other programs need not align their tensors.
    copy_.resize(at_hand_.size() / sizeof(float));
    std::memcpy(copy_.data(), at_hand_.data(), at_hand_.size());
    require_finite(copy_, file_, tensor_);
    return {copy_.data(), DType::f32, count, columns_, columns_};
  }

 private:
  const SafeTensors& file_;
  const StoredTensor& tensor_;
  int64_t columns_;
  std::span<const std::byte> at_hand_;
  std::vector<float> copy_;
};

}  // namespace

std::vector<int64_t> stored_shape(const Shape& shape) {
  std::vector<int64_t> extents(static_cast<size_t>(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents[static_cast<size_t>(axis)] = shape[axis];
  }
  return extents;
}

void save_weights(const std::filesystem::path& path, const Trainables& trainables, const Metadata& metadata) {
  std::vector<TensorSource> tensors;
  for (const Weight& weight : trainables.weights().all()) {
    if (!weight.has_trainable()) {
      continue;
    }
    tensors.push_back(tensor_source(weight.name(), StoredType::f32, stored_shape(weight.shape()),
                                    bytes_of(weight.trainable().master())));
  }
  write_checked_safetensors(path, tensors, metadata);
}

void load_weights(const std::filesystem::path& path, Backend& backend, DType precision, Weights& weights) {
  std::vector<const Weight*> all;
  for (const Weight& weight : weights.all()) {
    all.push_back(&weight);
  }
  const SafeTensors file = fitting_weights(path, all);
  verify_checksum(file);
  for (Weight& weight : weights.all()) {
    FileRows rows(file, file.at(weight.name()), weight.shape());
    weight.hold(backend, precision, [&](int64_t first, int64_t count) { return rows.read(first, count); });
  }
}

std::vector<float> read_weight(const SafeTensors& file, const StoredTensor& tensor) {
  require<FormatError>(tensor.type == StoredType::f32, file.path().string(), "{}, expected F32", tensor.text());
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  file.give_back(tensor.bytes);
  require_finite(values, file, tensor);
  return values;
}

void load_frozen(const std::filesystem::path& path, Backend& backend, Trainables& trainables) {
  const SafeTensors file(path);
  for (const Weight& weight : trainables.weights().all()) {
    if (!weight.has_trainable() || weight.is_trained()) {
      continue;
    }
    const std::vector<float> values = read_weight(file, file.at(weight.name()));
    require<FormatError>(file.at(weight.name()).shape == stored_shape(weight.shape()), path.string(),
                         "{}, but the model has F32{}", file.at(weight.name()).text(), weight.shape());
    std::ranges::copy(values, static_cast<float*>(host_address(weight.trainable().master())));
  }
  trainables.refresh(backend);
}

void load_masters(const std::filesystem::path& path, Backend& backend, Trainables& trainables) {
  std::vector<const Weight*> stored;
  for (const Weight& weight : trainables.weights().all()) {
    if (weight.has_trainable()) {
      stored.push_back(&weight);
    }
  }
  const SafeTensors file = fitting_weights(path, stored);
  verify_checksum(file);
  for (const Weight* const weight : stored) {
    const StoredTensor& tensor = file.at(weight->name());
    auto* const master = static_cast<float*>(host_address(weight->trainable().master()));
    std::memcpy(master, tensor.bytes.data(), tensor.bytes.size());
    require_finite({master, tensor.bytes.size() / sizeof(float)}, file, tensor);
  }
  trainables.refresh(backend);
}

}  // namespace heed
