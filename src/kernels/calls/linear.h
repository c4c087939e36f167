// The calls of the linear layer.
#pragma once

#include "kernels/calls/activation.h"
#include "kernels/calls/weight.h"
#include "kernels/calls/write.h"

namespace heed {

// y = dropout(act(x W^T + b)), in the storage or the master type; b has one row, or one for each of x. `before` saves
// x W^T + b for backward where the activation needs it. A weight of integers multiplies rows that are quantized
// first:
//   s[r] = max |x[r, :]| / 127    q[r, k] = round(x[r, k] * (127 / max |x[r, :]|))
// or, where it has an input scale, s[r] = input_scale    q[r, k] = round(min(127, max(-127, x[r, k] * (1 / s[r]))))
//   x W^T[r, c] = (sum over k of q[r, k] values[c, k]) s[r] scales[c], in int8
//   x W^T[r, c] = (sum over g of (sum over k in g of q[r, k] values[c, k]) scales[c, g]) s[r], in int4
struct LinearForward {
  ConstView x;
  WeightView weight;
  ConstView bias;
  Activation activation = Activation::none;
  Dropout dropout;
  View y, before;
};

// d_x (+)= scale * d_y W.
struct LinearInputGradient {
  ConstView d_y;
  WeightView weight;
  View d_x;
  Write write = Write::overwrite;
  double scale = 1.0;
};

// d_weight (+)= scale * d_y^T x, d_bias (+)= scale * sum over rows of d_y.
struct LinearWeightGradient {
  ConstView d_y, x;
  View d_weight, d_bias;
  Write write = Write::overwrite;
  double scale = 1.0;
};

}  // namespace heed
