// x' = x + y    d_y += d_x'    d_x = d_x'
// Saves nothing.
#include "ops/rows/add_columns.h"

#include "ops/tape.h"

namespace heed {

void add_to_columns(Pass& pass, Columns x, const Var& y) {
  require(x.var.rows() == y.rows() && x.count == y.columns(), "add_to_columns", "{} to {}", y.value(), x.value());
  pass.backend().add(y.value(), x.value());
  x.var.want_gradient_only_if(x.var.wants_gradient() || y.wants_gradient());
  if (pass.recording() && y.wants_gradient()) {
    pass.tape().record(AddColumnsOp{std::move(x), y});
  }
}

void AddColumnsOp::backward(Backend& backend) {
  const View d_x = x.var.gradient();
  if (!d_x.empty()) {
    const Var::Slot slot = y.gradient_slot(backend);
    const View own = d_x.column_range(x.first, x.count);
    slot.write == Write::overwrite ? backend.copy(own, slot.view) : backend.add(own, slot.view);
  }
}

}  // namespace heed
