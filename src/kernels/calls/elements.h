// The calls of ops that work on each element, or pair of elements, by itself.
#pragma once

#include <span>

#include "kernels/dropout.h"
#include "kernels/rotary_scale.h"
#include "tensor/tensor.h"

namespace heed {

// y = parts[0] + parts[1] + ... + b, added in this order in the master type, and rounded once. y may be one of the
// parts.
struct SumParts {
  std::span<const ConstView> parts;  // of y's shape and type
  ConstView bias;                    // [1, columns]
  View y;
};

enum class Turn : uint8_t { forward, backward };

// Rotates the pairs (c, c + dims / 2) of each head's first `dims` columns by position * frequency(c), in place, and
// multiplies them by the magnitude; see RotaryPairs. Turn::backward is the transpose, which is the gradient and, at
// magnitude 1, the inverse.
struct Rotation {
  View x;                   // [rows, heads * head width]
  ConstView position_rows;  // i32 [1, rows]
  int64_t heads = 1, dims = 0;
  double base = 10000.0;
  Turn turn = Turn::forward;
  RotaryScale scale = {};

  RotaryPairs pairs() const { return {dims, base, scale}; }
};

// Multiplies by the dropout's factors, in place; so does its gradient.
struct Drop {
  View x;
  Dropout dropout;
};

// x = cap * tanh(x / cap), in place: about x where that is small, and never beyond the cap.
struct SoftCap {
  View x;
  double cap = 1.0;
};

// d_y *= 1 - (y / cap)^2, in place.
struct SoftCapBackward {
  ConstView y;
  View d_y;
  double cap = 1.0;
};

}  // namespace heed
