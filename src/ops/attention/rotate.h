// Rotary positions: rotates pairs of columns of each head by an angle proportional to the row's position.
#pragma once

#include <span>

#include "kernels/rotary_scale.h"
#include "ops/pass.h"

namespace heed {

struct Rotary {
  int64_t dims = 0;  // columns of each head that are rotated; 0: no rotation
  double base = 10000.0;
  RotaryScale scale = {};
};

// In place: nothing else may have read x. Backward rotates the gradient back.
void rotate(Pass& pass, const Columns& x, std::span<const int32_t> positions, Heads heads, const Rotary& rotary);

struct RotateOp {
  Columns x;
  Tensor positions;
  int64_t heads;
  Rotary rotary;

  void backward(Backend& backend) const;
};

}  // namespace heed
