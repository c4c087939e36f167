// With the rows r of sequence s, n of them:
//   mean: y[s] = sum of x[r] / n             d_x[r] = d_y[s] / n
//   mean_sqrt_length: the same with sqrt(n) for n
//   max:  y[s, c] = x[m, c], the maximum        d_x[m, c] = d_y[s, c], zero in other rows
// Saves the row m of each column.
#include "ops/rows/pool.h"

#include <vector>

#include "kernels/calls/rows.h"
#include "ops/tape.h"

namespace heed {

Var pool(Pass& pass, const Var& x, const Segments& segments, Pooling kind) {
  require(x.rows() == segments.rows(), "pool", "{} in sequences of {} rows", x.value(), segments.rows());
  std::vector<int32_t> chosen;
  for (int64_t s = 0; s < segments.count(); ++s) {
    require(segments.length(s) > 0, "pool", "sequence {} has no row", s);
    chosen.push_back(static_cast<int32_t>(kind == Pooling::last ? segments.end(s) - 1 : segments.begin(s)));
  }
  if (kind == Pooling::first || kind == Pooling::last) {
    return select_rows(pass, x, chosen);
  }
  Var y(pass.allocate({segments.count(), x.columns()}, x.type()), x.first_row());
  PoolOp op{x, y, &segments, kind, {}};
  if (kind == Pooling::max) {
    op.chosen = pass.allocate({segments.count(), x.columns()}, DType::i32);
  }
  pass.backend().pool(
      {.segments = &segments, .kind = kind, .x = x.value(), .y = y.value(), .chosen = op.chosen.view()});
  y.want_gradient_only_if(x.wants_gradient());
  if (pass.recording() && y.wants_gradient()) {
    pass.tape().record(std::move(op));
  }
  return y;
}

void PoolOp::backward(Backend& backend) {
  const ConstView d_y = y.gradient();
  if (d_y.empty()) {
    return;
  }
  const Var::Slot d_x = x.gradient_slot(backend);
  backend.pool_backward(
      {.segments = segments, .kind = kind, .chosen = chosen.view(), .d_y = d_y, .d_x = d_x.view, .write = d_x.write});
}

}  // namespace heed
