// The calls of activations: their gradient, and gates.
#pragma once

#include "kernels/dropout.h"
#include "tensor/tensor.h"

namespace heed {

enum class Activation : uint8_t { none, relu, gelu, gelu_tanh, silu, tanh, relu_squared };

// d_before = d_y * dropout * act'(before). ReLU reads `y` instead: y > 0 says both that it was kept and that it was
// positive. May be in place (d_before = d_y).
struct ActivationBackward {
  Activation activation;
  Dropout dropout;
  ConstView y, before, d_y;
  View d_before;
};

// y = dropout(act(x[:, :inner]) * x[:, inner:]).
struct GateForward {
  Activation activation = Activation::silu;
  ConstView x;
  Dropout dropout;
  View y;
};

struct GateBackward {
  Activation activation = Activation::silu;
  ConstView x;
  Dropout dropout;
  ConstView d_y;
  View d_x;
};

}  // namespace heed
