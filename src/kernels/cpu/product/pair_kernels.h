// Panels of pairs (kernels/half_panels.h) that are widened to f32, one set of loops per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/product/product_kernels.h"
#include "kernels/half_panels.h"

namespace heed::cpu {

struct PairKernels {
  TileProduct multiply;  // for a tile that reads the panels from memory
  // As panels of f32 with product_kernels().panel_columns, one after the other: for several tiles.
  void (*widen)(int64_t steps, const RightBlock& from, float* to);
};

const PairKernels& pair_kernels(HalfType type);  // of the best instruction set here

}  // namespace heed::cpu
