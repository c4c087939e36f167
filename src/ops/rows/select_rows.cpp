// y[r] = x[rows[r]]      d_x[i] = sum of d_y[r] over all r with rows[r] = i
// Saves the indices.
#include "ops/rows/select_rows.h"

#include "kernels/calls/rows.h"
#include "ops/tape.h"

namespace heed {

Var select_rows(Pass& pass, const Var& x, std::span<const int32_t> rows) {
  require(!rows.empty(), "select_rows", "no row of {} is selected", x.value());
  for (size_t r = 0; r < rows.size(); ++r) {
    require(rows[r] >= 0 && rows[r] < x.rows(), "select_rows", "row {}, at index {}, is outside {}", rows[r], r,
            x.value());
  }
  Var y(pass.allocate({static_cast<int64_t>(rows.size()), x.columns()}, x.type()), x.first_row());
  SelectRowsOp op{x, y, pass.indices(rows)};
  pass.backend().select_rows({.x = x.value(), .rows = op.rows.view(), .y = y.value()});
  y.want_gradient_only_if(x.wants_gradient());
  if (pass.recording() && y.wants_gradient()) {
    pass.tape().record(std::move(op));
  }
  return y;
}

void SelectRowsOp::backward(Backend& backend) {
  const ConstView d_y = y.gradient();
  if (d_y.empty()) {
    return;
  }
  const Var::Slot d_x = x.gradient_slot(backend);
  backend.select_rows_backward({.d_y = d_y, .rows = rows.view(), .d_x = d_x.view, .write = d_x.write});
}

}  // namespace heed
