// y = dropout(act(a) * b), with a and b the halves of x's columns, and its gradient.
#include "kernels/reference/activation.h"
#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::gate(const GateForward& call) {
  const Values x(call.x);
  const int64_t inner = x.columns() / 2;
  Values y(x.rows(), inner);
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t c = 0; c < inner; ++c) {
      y(r, c) = reference::activate(call.activation, x(r, c)) * x(r, inner + c);
    }
  }
  reference::drop(y, call.dropout);
  reference::write(y, call.y);
}

// d_a = d_y * dropout * act'(a) * b      d_b = d_y * dropout * act(a)
void ReferenceBackend::gate_backward(const GateBackward& call) {
  const Values x(call.x);
  const int64_t inner = x.columns() / 2;
  Values d_y(call.d_y), d_x(x.rows(), x.columns());
  reference::drop(d_y, call.dropout);
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t c = 0; c < inner; ++c) {
      d_x(r, c) = d_y(r, c) * reference::slope(call.activation, x(r, c)) * x(r, inner + c);
      d_x(r, inner + c) = d_y(r, c) * reference::activate(call.activation, x(r, c));
    }
  }
  reference::write(d_x, call.d_x);
}

}  // namespace heed
