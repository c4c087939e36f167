// y = dropout(act(a) * b), where a and b are the left and right halves of x. With m the dropout factors:
//   d_a = d_y * m * b * act'(a)    d_b = d_y * m * act(a)
// Saves x.
#include "ops/rows/gate.h"

#include "ops/tape.h"

namespace heed {

Var gate(Pass& pass, const Var& x, Activation activation, const DropoutSite& dropout) {
  require(x.columns() % 2 == 0, "gate", "{} does not have two equal halves", x.value());
  Var y(pass.allocate({x.rows(), x.columns() / 2}), x.first_row());
  const GateOp op{x, y, activation, pass.dropout(dropout, x.first_row())};
  pass.backend().gate({.activation = activation, .x = x.value(), .dropout = op.dropout, .y = y.value()});
  y.want_gradient_only_if(x.wants_gradient());
  if (pass.recording() && y.wants_gradient()) {
    pass.tape().record(op);
  }
  return y;
}

void GateOp::backward(Backend& backend) {
  const ConstView d_y = y.gradient();
  if (d_y.empty()) {
    return;
  }
  const Var::Slot d_x = x.gradient_slot(backend);
  ensure(d_x.write == Write::overwrite, "gate", "an input that is read elsewhere too");
  backend.gate_backward({.activation = activation, .x = x.value(), .dropout = dropout, .d_y = d_y, .d_x = d_x.view});
}

}  // namespace heed
