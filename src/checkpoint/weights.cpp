#include "checkpoint/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>

namespace heed {
namespace {

std::vector<int64_t> extents_of(const Shape& shape) {
  std::vector<int64_t> extents(static_cast<size_t>(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents[static_cast<size_t>(axis)] = shape[axis];
  }
  return extents;
}

std::span<const std::byte> bytes_of(const View& master) {
  ensure(master.type() == DType::f32, "weights", "masters of {}, expected f32", master);
  const auto* const first = static_cast<const std::byte*>(host_address(master));
  return {first, static_cast<size_t>(master.rows() * master.columns() * size_of(master.type()))};
}

// The file, in which each parameter has its tensor, and no tensor is left over.
SafeTensors fitting_weights(const std::filesystem::path& path, const ParameterStore& parameters) {
  SafeTensors file(path);
  std::set<std::string_view> names;
  for (const auto& parameter : parameters.all()) {
    const StoredTensor* const tensor = file.find(parameter->name());
    require<FormatError>(tensor != nullptr, path.string(), "there is no tensor '{}', which the model has as F32{}",
                         parameter->name(), parameter->shape());
    require<FormatError>(tensor->type == StoredType::f32 && tensor->shape == extents_of(parameter->shape()),
                         path.string(), "{}, but the model has F32{}", tensor->text(), parameter->shape());
    names.insert(parameter->name());
  }
  for (const StoredTensor& tensor : file.tensors()) {
    require<FormatError>(names.contains(tensor.name), path.string(), "{} is no parameter of the model", tensor.text());
  }
  return file;
}

}  // namespace

void save_weights(const std::filesystem::path& path, const ParameterStore& parameters, const Metadata& metadata) {
  std::vector<TensorSource> tensors;
  for (const auto& parameter : parameters.all()) {
    tensors.push_back(tensor_source(parameter->name(), StoredType::f32, extents_of(parameter->shape()),
                                    bytes_of(parameter->master())));
  }
  write_checked_safetensors(path, tensors, metadata);
}

void check_weights(const std::filesystem::path& path, const ParameterStore& parameters) {
  fitting_weights(path, parameters);
}

void load_weights(const std::filesystem::path& path, Backend& backend, ParameterStore& parameters) {
  const SafeTensors file = fitting_weights(path, parameters);
  verify_checksum(file);
  for (const auto& parameter : parameters.all()) {
    const StoredTensor& tensor = file.at(parameter->name());
    std::memcpy(host_address(parameter->master()), tensor.bytes.data(), tensor.bytes.size());
    const std::span<const float> values(static_cast<const float*>(host_address(parameter->master())),
                                        tensor.bytes.size() / sizeof(float));
    require<FormatError>(std::ranges::all_of(values, [](float x) { return std::isfinite(x); }), path.string(),
                         "the weights of '{}' hold values that are no finite numbers", parameter->name());
  }
  parameters.refresh(backend);
}

}  // namespace heed
