#include "checkpoint/widened_weights.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "checkpoint/stored_model.h"
#include "checkpoint/stored_panels.h"
#include "checkpoint/stored_weight.h"
#include "checkpoint/weights.h"
#include "models/any_model.h"
#include "tensor_files/safetensors.h"
#include "tensor_files/tensor_values.h"

namespace heed {
namespace {

bool has_packed_form(const TensorFile& file, const StoredTensor& tensor) {
  return !is_float(tensor.type) || in_panels(file, tensor.type);
}

bool holds_packed(const TensorFile& file) {
  return std::ranges::any_of(file.tensors(), [&](const StoredTensor& tensor) { return has_packed_form(file, tensor); });
}

// The weights of a model, without scales and sums; the model has the shapes of what is in panels. WidenedGroups
// (widened_groups.cpp) says why it is another class.
class WidenedFile final : public TensorFile {
 public:
  // Without metadata: a checksum of other bytes would not be the tensors'.
  WidenedFile(std::shared_ptr<const TensorFile> file, const ModelConfig& config)
      : TensorFile(file->path()), file_(std::move(file)) {
    const AnyModel model(Scope(weights_), config);
    for (const Weight& weight : weights_.all()) {
      require_stored(*file_, weight);
      const StoredTensor& tensor = file_->at(weight.name());
      if (has_packed_form(*file_, tensor)) {
        add({.name = weight.name(), .type = StoredType::f32, .shape = stored_shape(weight.shape()), .bytes = {}});
      } else {
        add(tensor);
      }
    }
  }

  std::span<const std::byte> rows(const StoredTensor& tensor, RowSpan rows,
                                  std::vector<std::byte>& buffer) const override {
    const StoredTensor& stored = file_->at(tensor.name);
    if (!has_packed_form(*file_, stored)) {
      return file_->rows(stored, rows, buffer);
    }
    const Weight& weight = weights_.find(tensor.name);
    buffer.resize(static_cast<size_t>(rows.count * tensor.row_bytes()));
    const std::span to(reinterpret_cast<float*>(buffer.data()), buffer.size() / sizeof(float));
    if (in_panels(*file_, stored.type)) {
      read_panel_rows(file_, weight, rows, to);
      if (rows.first + rows.count == tensor.rows()) {
        file_->give_back(stored.bytes);  // not before: neighbouring rows share a panel
      }
    } else {
      StoredWeight(*file_, weight, rows).read_integers(to);
    }
    return buffer;
  }
  void give_back(std::span<const std::byte> bytes) const override { file_->give_back(bytes); }

 private:
  std::shared_ptr<const TensorFile> file_;
  Weights weights_;  // without values
};

}  // namespace

bool WidenedWeights::is_packed(const std::string& name) const { return has_packed_form(*stored, stored->at(name)); }

std::unique_ptr<PackedWeight> WidenedWeights::packed(const std::string& name, Backend& backend, DType inputs) const {
  const std::vector<int64_t>& shape = floats->at(name).shape;
  Weight weight(name, {shape.front(), shape.back()}, WeightUse::product);
  if (in_panels(*stored, stored->at(name).type)) {
    hold_panels(stored, backend, inputs, weight);
  } else {
    StoredWeight(*stored, weight).load_into(backend, inputs, weight);
  }
  return weight.take_packed();
}

void WidenedWeights::store_base(const std::string& name, Backend& backend, Trainables& trainables,
                                size_t weight) const {
  if (is_packed(name)) {
    trainables.store_base(weight, packed(name, backend, trainables.precision()));
    return;
  }
  std::vector<float> values = read_weight(*floats, floats->at(name));
  const Shape& shape = trainables.weights().all()[weight].shape();
  ensure(static_cast<int64_t>(values.size()) == shape.elements(), "base", "another {} than F32{}", name, shape);
  trainables.store_base(backend, weight,
                        View(values.data(), DType::f32, shape.rows(), shape.columns(), shape.columns()));
}

bool takes_only_adapters(const ModelFolder& folder, const ModelConfig& config) {
  return holds_packed(*open_weights(folder, config, BlocksAs::floats));
}

WidenedWeights open_widened_weights(const ModelFolder& folder, const ModelConfig& config) {
  return widened_weights(open_weights(folder, config), config);
}

WidenedWeights widened_weights(const std::shared_ptr<const TensorFile>& stored, const ModelConfig& config) {
  if (!holds_packed(*stored)) {
    return {stored, stored};
  }
  return {stored, std::make_shared<const WidenedFile>(stored, config)};
}

}  // namespace heed
