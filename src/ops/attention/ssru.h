// The simpler simple recurrent unit (Kim et al., 2019), which a decoder may have in place of self-attention.
#pragma once

#include "kernels/calls/ssru.h"
#include "ops/pass.h"
#include "ops/var.h"
#include "ops/weight.h"

namespace heed {

// y[t] = max(c[t], 0), c[t] = f[t] c[t-1] + (1 - f[t]) x[t], f[t] = sigmoid(g[t] + bias): `projected` is [g | x], and
// the bias, which may be null, a vector of as many elements as x has columns. The segments must outlive the tape.
Var ssru(Pass& pass, const Var& projected, const Segments& segments, const Weight* gate_bias);
// The tokens follow those of a cache, which has room for their cells; see SsruForward. For inference.
Var ssru(Pass& pass, const Var& projected, const Segments& segments, const Weight* gate_bias,
         const KeyValueView& cells);

struct SsruOp {
  Var projected, output;
  const Segments* segments;
  const Weight* gate_bias;
  Tensor cells;

  void backward(Backend& backend);
};

}  // namespace heed
