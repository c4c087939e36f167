// Rows of integers in panels, as the floats that they stand for.
#pragma once

#include "kernels/integer_panels.h"

namespace heed::cpu {

// to[k] = scale * value(row, k), for all columns.
void unpack_row(const Int8Panels& panels, int64_t row, float* to);
void unpack_row(const Int8GroupPanels& panels, int64_t row, float* to);
void unpack_row(const Int4Panels& panels, int64_t row, float* to);

}  // namespace heed::cpu
