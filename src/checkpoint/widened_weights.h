// The weights of a model whose matrices may be quantized, both as they are and as the floats that they stand for: for
// adapters, which are added to either.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/model_directory.h"
#include "nn/weights/trainables.h"
#include "tensor_files/tensor_file.h"

namespace heed {

// A model's weights by heed's names.
struct WidenedWeights {
  std::shared_ptr<const TensorFile> stored;  // as inference reads them
  std::shared_ptr<const TensorFile> floats;  // quantized matrices in f32; the same file where there are none

  // Whether the file has this weight of the model packed: as integers, or in panels.
  bool is_packed(const std::string& name) const;
  // Such a weight, for inputs of this type.
  std::unique_ptr<PackedWeight> packed(const std::string& name, Backend& backend, DType inputs) const;
  // One of the values of an adapter's base, which has it under this name; packed where the file has it so.
  void store_base(const std::string& name, Backend& backend, Trainables& trainables, size_t weight) const;
};

// Whether a folder's own weights are quantized, so that training can add to them and not change them.
bool takes_only_adapters(const ModelFolder& folder, const ModelConfig& config);

// What a folder with a model of this configuration holds, of heed's or of another program. FormatError unless a file with
// quantized matrices has the weights of that model.
WidenedWeights open_widened_weights(const ModelFolder& folder, const ModelConfig& config);
// The same of a file that open_weights() opened.
WidenedWeights widened_weights(const std::shared_ptr<const TensorFile>& stored, const ModelConfig& config);

}  // namespace heed
