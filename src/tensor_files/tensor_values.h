// The values of tensors in files.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tensor_files/tensor_file.h"

namespace heed {

// Whether values of this type are read as floats.
bool is_float(StoredType type);

// As many bytes of such a tensor as `to` has values. FormatError unless all are finite.
void convert_floats(const TensorFile& file, const StoredTensor& tensor, std::span<const std::byte> bytes,
                    std::span<float> to);
// All values of such a tensor; gives its memory back.
void read_floats(const TensorFile& file, const StoredTensor& tensor, std::span<float> to);
std::vector<float> read_floats(const TensorFile& file, const StoredTensor& tensor);

}  // namespace heed
