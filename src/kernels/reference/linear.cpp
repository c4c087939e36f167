// y = dropout(act(x W^T + b)) and its gradients.
#include "kernels/reference/activation.h"
#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::linear(const LinearForward& call) {
  const Values before = reference::affine(call.x, call.weight, Values(call.bias));
  Values y = before;
  for (int64_t r = 0; r < y.rows(); ++r) {
    for (int64_t c = 0; c < y.columns(); ++c) {
      y(r, c) = reference::activate(call.activation, before(r, c));
    }
  }
  reference::drop(y, call.dropout);
  reference::write(before, call.before);
  reference::write(y, call.y);
}

// d_before = d_y * dropout * act'(before)
void ReferenceBackend::activation_backward(const ActivationBackward& call) {
  const Values y(call.y), before(call.before);
  Values d_before(call.d_y);
  reference::drop(d_before, call.dropout);
  for (int64_t r = 0; r < d_before.rows(); ++r) {
    for (int64_t c = 0; c < d_before.columns(); ++c) {
      if (call.activation == Activation::relu) {
        d_before(r, c) *= y(r, c) > 0.0 ? 1.0 : 0.0;
      } else if (call.activation != Activation::none) {
        d_before(r, c) *= reference::slope(call.activation, before(r, c));
      }
    }
  }
  reference::write(d_before, call.d_before);
}

// d_x[r, in] = scale * sum over out of d_y[r, out] W[out, in]
void ReferenceBackend::linear_input_gradient(const LinearInputGradient& call) {
  const Values d_y(call.d_y), weight(call.weight);
  Values d_x(d_y.rows(), weight.columns());
  for (int64_t r = 0; r < d_x.rows(); ++r) {
    for (int64_t out = 0; out < d_y.columns(); ++out) {
      for (int64_t in = 0; in < d_x.columns(); ++in) {
        d_x(r, in) += call.scale * d_y(r, out) * weight(out, in);
      }
    }
  }
  reference::write(d_x, call.d_x, call.write);
}

// d_W[out, in] = scale * sum over r of d_y[r, out] x[r, in]      d_b[out] = scale * sum over r of d_y[r, out]
void ReferenceBackend::linear_weight_gradient(const LinearWeightGradient& call) {
  const Values d_y(call.d_y), x(call.x);
  Values d_weight(d_y.columns(), x.columns()), d_bias(1, d_y.columns());
  for (int64_t r = 0; r < d_y.rows(); ++r) {
    for (int64_t out = 0; out < d_y.columns(); ++out) {
      d_bias(0, out) += call.scale * d_y(r, out);
      for (int64_t in = 0; in < x.columns(); ++in) {
        d_weight(out, in) += call.scale * d_y(r, out) * x(r, in);
      }
    }
  }
  reference::write(d_weight, call.d_weight, call.write);
  reference::write(d_bias, call.d_bias, call.write);
}

}  // namespace heed
