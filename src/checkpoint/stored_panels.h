// Matrices of whole numbers that a file holds in the panels of kernels/integer_panels.h: products read them where the
// file is mapped, and processes share them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "ops/weight.h"

namespace heed {

// How a file's matrices of whole numbers lie: row by row, or in panels. Its metadata say so, for all of them.
enum class IntegerLayout : uint8_t { rows, panels };
IntegerLayout layout_of(const SafeTensors& file);  // FormatError for a layout of another name
Metadata mark_of_panels();

// The tensor with the sums of an int8 matrix in panels.
std::string sums_of(const std::string& weight);

// The shapes of the tensors of a matrix in panels.
std::vector<int64_t> int8_panel_shape(const Shape& shape);
std::vector<int64_t> int4_panel_shape(const Shape& shape);
std::vector<int64_t> int4_panel_scales_shape(const Shape& shape, int64_t group);

// Uses a matrix in panels where it is; it must have the tensors that require_stored() demands. The file stays mapped as
// long as the weight does. FormatError when a tensor is not aligned, or a scale is not one.
void hold_panels(const std::shared_ptr<const SafeTensors>& file, Backend& backend, Weight& weight);

}  // namespace heed
