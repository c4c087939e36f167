// y = factor * x    d_x = factor * d_y
// Saves nothing.
#include "ops/rows/scale.h"

#include "ops/tape.h"

namespace heed {

Var scaled(Pass& pass, const Var& x, double factor) {
  if (factor == 1.0) {
    return x;
  }
  Var y(pass.allocate({x.rows(), x.columns()}, x.type()), x.first_row());
  pass.backend().copy(x.value(), y.value());
  pass.backend().scale(y.value(), factor);
  y.want_gradient_only_if(x.wants_gradient());
  if (pass.recording() && x.wants_gradient()) {
    pass.tape().record(ScaleOp{x, y, factor});
  }
  return y;
}

void ScaleOp::backward(Backend& backend) {
  const View d_y = y.gradient();
  if (d_y.empty()) {
    return;
  }
  backend.scale(d_y, factor);  // nothing else reads it
  const Var::Slot slot = x.gradient_slot(backend);
  slot.write == Write::overwrite ? backend.copy(d_y, slot.view) : backend.add(d_y, slot.view);
}

}  // namespace heed
