// drop: y = m * x, with the factors m of dropout    d_x = m * d_y              saves nothing; m is drawn again
// soft_cap: y = cap * tanh(x / cap)                 d_x = (1 - (y / cap)^2) d_y   saves y
#include "ops/soft_cap.h"

#include "ops/tape.h"

namespace heed {

void drop(Pass& pass, const Var& x, const DropoutSite& site) {
  DropOp op{x, pass.dropout(site, x.first_row())};
  if (!op.dropout.active()) {
    return;
  }
  pass.backend().drop({x.value(), op.dropout});
  if (pass.recording() && x.wants_gradient()) {
    pass.tape().record(std::move(op));
  }
}

void soft_cap(Pass& pass, const Var& x, SoftCapAt cap) {
  if (!cap.active()) {
    return;
  }
  pass.backend().soft_cap({x.value(), cap.value});
  if (pass.recording() && x.wants_gradient()) {
    pass.tape().record(SoftCapOp{x, cap.value});
  }
}

void DropOp::backward(Backend& backend) const {
  if (!x.gradient().empty()) {
    backend.drop({x.gradient(), dropout});
  }
}

void SoftCapOp::backward(Backend& backend) const {
  if (!y.gradient().empty()) {
    backend.soft_cap_backward({y.value(), y.gradient(), cap});
  }
}

}  // namespace heed
