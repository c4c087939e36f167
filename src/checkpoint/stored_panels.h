// Matrices that a file holds in the panels of kernels/integer_panels.h or kernels/half_panels.h: products read them
// where the file is mapped, and processes share them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/weight.h"
#include "tensor/half_type.h"
#include "tensor_files/safetensors.h"

namespace heed {

// Whether a file's matrices of this type are in panels, not row by row. Its metadata say so, for all integers and for
// all 16-bit floats. FormatError for a layout of another name.
bool in_panels(const TensorFile& file, StoredType type);
// What the metadata say of panels of this type; nothing for types that are never in panels.
Metadata mark_of_panels(StoredType type);

// The tensor with the sums of an int8 matrix in panels.
std::string sums_of(const std::string& weight);

// The type of a tensor of 16-bit floats.
HalfType half_type_of(const StoredTensor& tensor);

// The shapes of the tensors of a matrix in panels.
std::vector<int64_t> int8_panel_shape(const Shape& shape);
std::vector<int64_t> int4_panel_shape(const Shape& shape);
std::vector<int64_t> group_panel_scales_shape(const Shape& shape, int64_t group);
std::vector<int64_t> half_panel_shape(const Shape& shape);

// Uses a matrix in panels where it is, for inputs of that type; it must have the tensors that require_stored() demands.
// The file stays mapped as long as the weight does. FormatError when a tensor is not aligned, a scale is not one, or a
// float is not finite.
void hold_panels(const std::shared_ptr<const TensorFile>& file, Backend& backend, DType inputs, Weight& weight);
// Some rows of such a matrix as the floats that it stands for; with the same errors, for what these rows have.
void read_panel_rows(const std::shared_ptr<const TensorFile>& file, const Weight& weight, RowSpan rows,
                     std::span<float> to);

}  // namespace heed
