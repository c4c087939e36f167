// y = m * x, with the factors m of dropout (0 or 1 / (1 - p))    d_x = m * d_y
// Saves nothing: m is drawn again.
#include "ops/rows/drop.h"

#include "kernels/calls/elements.h"
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

void DropOp::backward(Backend& backend) const {
  if (!x.gradient().empty()) {
    backend.drop({x.gradient(), dropout});
  }
}

}  // namespace heed
