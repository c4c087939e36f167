// u = scale A (x * m)    z = x W^T + b + B u, with m the dropout factors:
//   d_B = d_z^T u    d_u = d_z B    d_A = scale d_u^T (x * m)    d_x = scale (d_u A) * m
// Saves x and u; x * m is computed again.
#include "ops/rows/low_rank.h"

#include "kernels/calls/elements.h"
#include "kernels/calls/linear.h"
#include "ops/tape.h"
#include "ops/trainable.h"

namespace heed {
namespace {

// x * m.
ConstView dropped_input(Backend& backend, const Var& x, const Dropout& dropout, Tensor& memory) {
  if (!dropout.active()) {
    return x.value();
  }
  memory = Tensor({x.rows(), x.columns()}, x.type(), backend.arena());
  backend.copy(x.value(), memory.view());
  backend.drop({memory.view(), dropout});
  return memory.view();
}

void input_gradient(Backend& backend, LowRankOp& op, ConstView d_u) {
  auto& [x, y, u, weights, dropout] = op;
  const Var::Slot slot = x.gradient_slot(backend);
  if (slot.write == Write::overwrite || !dropout.active()) {
    backend.linear_input_gradient(
        {.d_y = d_u, .weight = weights->a->value(), .d_x = slot.view, .write = slot.write, .scale = weights->scale});
    if (dropout.active()) {
      backend.drop({slot.view, dropout});
    }
    return;
  }
  const Tensor d_x({x.rows(), x.columns()}, x.type(), backend.arena());
  backend.linear_input_gradient(
      {.d_y = d_u, .weight = weights->a->value(), .d_x = d_x.view(), .scale = weights->scale});
  backend.drop({d_x.view(), dropout});
  backend.add(d_x.view(), slot.view);
}

}  // namespace

Tensor low_rank(Pass& pass, const Var& x, const Var& y, const LowRank& weights, ConstView bias) {
  require_fits(x, {weights.a, nullptr}, "low_rank");
  Backend& backend = pass.backend();
  LowRankOp op{x, y, Var(pass.allocate({x.rows(), weights.a->shape()[0]}), x.first_row()), &weights,
               pass.dropout(weights.dropout, x.first_row())};
  Tensor memory;
  const ConstView dropped = dropped_input(backend, x, op.dropout, memory);
  backend.linear(
      {.x = dropped, .weight = weights.a->value(), .bias = {}, .dropout = {}, .y = op.u.value(), .before = {}});
  backend.scale(op.u.value(), weights.scale);
  Tensor sum = pass.allocate_master({y.rows(), y.columns()});
  backend.linear(
      {.x = op.u.value(), .weight = weights.b->value(), .bias = bias, .dropout = {}, .y = sum.view(), .before = {}});
  if (pass.recording()) {
    pass.tape().record(std::move(op));
  }
  return sum;
}

void LowRankOp::backward(Backend& backend) {
  const ConstView d_y = y.gradient();
  if (d_y.empty()) {
    return;
  }
  linear_weight_gradient(backend, {weights->b, nullptr}, d_y, u.value());
  const Tensor d_u({u.rows(), u.columns()}, u.type(), backend.arena());
  backend.linear_input_gradient({.d_y = d_y, .weight = weights->b->value(), .d_x = d_u.view()});
  if (weights->a->is_trained()) {
    Tensor memory;
    linear_weight_gradient(backend, {weights->a, nullptr}, d_u.view(), dropped_input(backend, x, dropout, memory),
                           weights->scale);
  }
  if (x.wants_gradient()) {
    input_gradient(backend, *this, d_u.view());
  }
}

}  // namespace heed
