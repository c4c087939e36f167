// Rotates the pairs (a, b) = columns (c, c + dims / 2) of each head by t = position * frequency(c), in place, times a
// magnitude m, which is 1 except for yarn:
//   a' = m (a cos t - b sin t)    b' = m (a sin t + b cos t)
// A rotation's transpose is its inverse, so the gradient of (a, b) is m times that of (a', b') rotated by -t.
// Saves the positions.
#include "ops/attention/rotate.h"

#include "kernels/calls/elements.h"
#include "ops/tape.h"

namespace heed {
namespace {

void turn(Backend& backend, const RotateOp& op, View x, Turn direction) {
  backend.rotate({
      .x = x,
      .position_rows = op.positions.view(),
      .heads = op.heads,
      .dims = op.rotary.dims,
      .base = op.rotary.base,
      .turn = direction,
      .scale = op.rotary.scale,
  });
}

}  // namespace

void rotate(Pass& pass, const Columns& x, std::span<const int32_t> positions, Heads head_count, const Rotary& rotary) {
  const int64_t heads = head_count.value;
  require(static_cast<int64_t>(positions.size()) == x.var.rows(), "rotate", "{} positions for {}", positions.size(),
          x.value());
  require(heads > 0 && x.count % heads == 0 && rotary.dims % 2 == 0 && rotary.dims <= x.count / heads, "rotate",
          "{} rotated columns in each of {} heads of {}", rotary.dims, heads, x.value());
  RotateOp op{x, pass.indices(positions), heads, rotary};
  turn(pass.backend(), op, x.value(), Turn::forward);
  if (pass.recording() && x.var.wants_gradient()) {
    pass.tape().record(std::move(op));
  }
}

void RotateOp::backward(Backend& backend) const {
  const View d_x = x.var.gradient();
  if (!d_x.empty()) {
    turn(backend, *this, d_x.column_range(x.first, x.count), Turn::backward);
  }
}

}  // namespace heed
