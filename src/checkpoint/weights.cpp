#include "checkpoint/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <future>
#include <set>
#include <string>

#include "checkpoint/stored_panels.h"
#include "checkpoint/stored_weight.h"
#include "kernels/host_copy.h"
#include "ops/trainable.h"
#include "tensor/view_bytes.h"
#include "tensor_files/tensor_values.h"

namespace heed {
namespace {

// Its bytes are copied to the host when they are asked for.
TensorSource source_of(const Weight& weight, Backend& backend) {
  const ConstView master = weight.trainable().master();
  ensure(master.type() == DType::f32, "weights", "masters of {}, expected f32", master);
  return {weight.name(), StoredType::f32, stored_shape(weight.shape()),
          [master, &backend](const ByteSink& write) { write(bytes_of(HostCopy(backend, master).view())); }};
}

// FormatError unless all tensors of the file are weights of the model, or scales of one.
void require_no_others(const TensorFile& file, const std::vector<const Weight*>& weights) {
  std::set<std::string> names;
  for (const Weight* const weight : weights) {
    names.insert(weight->name());
    const StoredTensor& tensor = file.at(weight->name());
    const bool is_int8 = tensor.type == StoredType::i8 && !has_groups(file, tensor);
    if (is_int8 && in_panels(file, tensor.type)) {
      names.insert(sums_of(weight->name()));
    }
    if (tensor.type == StoredType::i8 || tensor.type == StoredType::u8) {
      names.insert(scales_of(weight->name()));
    }
    if (is_int8) {
      names.insert(input_scale_of(weight->name()));
    }
  }
  for (const StoredTensor& tensor : file.tensors()) {
    require<FormatError>(names.contains(tensor.name), file.path().string(), "{} is not a weight of the model",
                         tensor.text());
  }
}

void require_floats(const TensorFile& file, const StoredTensor& tensor, std::string_view alternative = {}) {
  require<FormatError>(
      is_float(tensor.type) && !in_panels(file, tensor.type), file.path().string(),
      "holds quantized weights ({}), which cannot be changed exactly: name the model that they were made from{}",
      tensor.text(), alternative);
}

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
    tensors.push_back(source_of(weight, trainables.backend()));
  }
  write_checked_safetensors(path, tensors, metadata);
}

void load_weights(const std::shared_ptr<const TensorFile>& file, Backend& backend, DType precision, Weights& weights) {
  std::vector<const Weight*> all;
  for (const Weight& weight : weights.all()) {
    require_stored(*file, weight);
    all.push_back(&weight);
  }
  require_no_others(*file, all);
  const bool stays_mapped =
      std::ranges::any_of(file->tensors(), [&](const StoredTensor& tensor) { return in_panels(*file, tensor.type); });
  const AfterReading after = stays_mapped ? AfterReading::keep : AfterReading::give_back;
  const auto hold_all = [&] {
    for (Weight& weight : weights.all()) {
      if (in_panels(*file, file->at(weight.name()).type)) {
        hold_panels(file, backend, precision, weight);
      } else {
        StoredWeight(*file, weight).load_into(backend, precision, weight);
      }
    }
  };
  if (backend.threads() == 1) {
    verify_checksum(*file, after);
    hold_all();
    return;
  }
  // The checksum is one long sum: another thread computes it meanwhile. Whatever else is wrong with a damaged file, it
  // is refused for being damaged.
  std::future<void> verified = std::async(std::launch::async, [&file, after] { verify_checksum(*file, after); });
  try {
    hold_all();
  } catch (const Error&) {
    verified.get();
    throw;
  }
  verified.get();
}

void load_weights(const std::filesystem::path& path, Backend& backend, DType precision, Weights& weights) {
  load_weights(std::make_shared<const SafeTensors>(path), backend, precision, weights);
}

void require_not_quantized(const TensorFile& file, std::string_view alternative) {
  for (const StoredTensor& tensor : file.tensors()) {
    require_floats(file, tensor, alternative);
  }
}

std::vector<float> read_weight(const TensorFile& file, const StoredTensor& tensor) {
  require_floats(file, tensor);
  return read_floats(file, tensor);
}

void load_frozen(const std::filesystem::path& path, Backend& backend, Trainables& trainables) {
  const SafeTensors file(path);
  for (size_t i = 0; i < trainables.weights().all().size(); ++i) {
    const Weight& weight = trainables.weights().all()[i];
    if (trainables.treatment_of(i) != WeightTreatment::frozen) {
      continue;
    }
    const std::vector<float> values = read_weight(file, file.at(weight.name()));
    require<FormatError>(file.at(weight.name()).shape == stored_shape(weight.shape()), path.string(),
                         "{}, but the model has F32{}", file.at(weight.name()).text(), weight.shape());
    HostRoom room(backend, weight.trainable().master());
    std::ranges::copy(values, host<float>(room.view()).data);
    room.put();
  }
  trainables.refresh(backend);
}

void load_masters(const std::filesystem::path& path, Backend& backend, Trainables& trainables) {
  load_masters(SafeTensors(path), backend, trainables);
}

void load_masters(const TensorFile& file, Backend& backend, Trainables& trainables) {
  std::vector<const Weight*> stored;
  for (const Weight& weight : trainables.weights().all()) {
    if (weight.has_trainable()) {
      stored.push_back(&weight);
    }
  }
  for (const Weight* const weight : stored) {
    require_stored(file, *weight);
    require_floats(file, file.at(weight->name()));
  }
  require_no_others(file, stored);
  verify_checksum(file);
  for (const Weight* const weight : stored) {
    HostRoom room(backend, weight->trainable().master());
    read_floats(file, file.at(weight->name()),
                {host<float>(room.view()).data, static_cast<size_t>(weight->shape().elements())});
    room.put();
  }
  trainables.refresh(backend);
}

}  // namespace heed
