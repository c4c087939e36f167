// The activations and their slopes.
#pragma once

#include "kernels/calls/activation.h"

namespace heed::reference {

//   relu: max(x, 0)              gelu: x Phi(x), Phi the normal distribution
//   silu: x sigmoid(x)           gelu_tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
//   relu_squared: max(x, 0)^2
//   tanh
double activate(Activation activation, double x);

// d activate(x) / dx; at relu's corner, 0.
double slope(Activation activation, double x);

}  // namespace heed::reference
