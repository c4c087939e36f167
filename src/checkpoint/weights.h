// Saving weights to safetensors files and loading them.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "nn/weights/trainables.h"
#include "tensor_files/safetensors.h"

namespace heed {

// A shape as a file lists it.
std::vector<int64_t> stored_shape(const Shape& shape);

// The masters, in f32, by name: of all weights but those of a base.
void save_weights(const std::filesystem::path& path, const Trainables& trainables, const Metadata& metadata);

// For inference: each weight in the one form that its use needs, matrices in `precision`, or as integers where the file
// has them so. Converts while reading, a few rows at a time, so that hardly more memory is needed than for the result.
// FormatError when a name or a shape differs from the model's, naming both (checked before memory is allocated, so that
// absurd sizes do no harm); for values that are not finite; and for a damaged file.
void load_weights(const std::shared_ptr<const TensorFile>& file, Backend& backend, DType precision, Weights& weights);
void load_weights(const std::filesystem::path& path, Backend& backend, DType precision, Weights& weights);

// FormatError when some of the file's weights are quantized: what needs the exact ones cannot begin from them. The message
// ends with `alternative`, if there is one to naming the model that they were made from.
void require_not_quantized(const TensorFile& file, std::string_view alternative = {});

// The values of one tensor of a file. FormatError unless they are floats, as those of integers are not, and finite.
std::vector<float> read_weight(const TensorFile& file, const StoredTensor& tensor);

// The values of the weights that are frozen, from a file that has them among others. Refreshes the copies.
void load_frozen(const std::filesystem::path& path, Backend& backend, Trainables& trainables);

// Into the masters, with the same checks. Refreshes the copies.
void load_masters(const TensorFile& file, Backend& backend, Trainables& trainables);
void load_masters(const std::filesystem::path& path, Backend& backend, Trainables& trainables);

}  // namespace heed
