// Rotary positions: turns pairs of columns of each head by an angle proportional to the row's position.
#pragma once

#include <span>

#include "ops/pass.h"

namespace heed {

struct Rotary {
  int64_t dims = 0;  // columns of each head that turn; 0: no rotation
  double base = 10000.0;
};

// In position: nothing else may have read x. The gradient is turned back.
void rotate(Pass& pass, const Columns& x, std::span<const int32_t> positions, Heads heads, const Rotary& rotary);

struct RotateOp {
  Columns x;
  Tensor positions;
  int64_t heads;
  Rotary rotary;

  void backward(Backend& backend) const;
};

}  // namespace heed
