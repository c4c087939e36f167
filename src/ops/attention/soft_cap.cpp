// y = cap * tanh(x / cap)    d_x = (1 - (y / cap)^2) d_y
// Saves y.
#include "ops/attention/soft_cap.h"

#include "kernels/calls/elements.h"
#include "ops/tape.h"

namespace heed {

void soft_cap(Pass& pass, const Var& x, SoftCapAt cap) {
  if (!cap.active()) {
    return;
  }
  pass.backend().soft_cap({x.value(), cap.value});
  if (pass.recording() && x.wants_gradient()) {
    pass.tape().record(SoftCapOp{x, cap.value});
  }
}

void SoftCapOp::backward(Backend& backend) const {
  if (!y.gradient().empty()) {
    backend.soft_cap_backward({y.value(), y.gradient(), cap});
  }
}

}  // namespace heed
