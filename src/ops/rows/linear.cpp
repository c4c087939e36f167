// y = dropout(act(z)), z = x W^T + b. A low-rank addition to W takes the place of b, and includes it
// (ops/rows/low_rank.h). With m the dropout factors (0 or 1 / (1 - p)):
//   d_z = d_y * m * act'(z)    d_x = d_z W    d_W = d_z^T x    d_b = sum over rows of d_z
// Saves x. For ReLU also y: y > 0 says that z was positive and not dropped. For the other activations also z. A packed W
// of a base is unpacked once for x W^T, and again for d_z W.
#include "ops/rows/linear.h"

#include "kernels/calls/linear.h"
#include "ops/rows/low_rank.h"
#include "ops/tape.h"
#include "ops/trainable.h"
#include "ops/unpacked_weight.h"

namespace heed {
namespace {

bool needs_before(Activation activation) { return activation != Activation::none && activation != Activation::relu; }

}  // namespace

bool is_trained(const LinearWeights& weights) {
  return weights.weight->is_trained() || (weights.bias != nullptr && weights.bias->is_trained());
}

void require_fits(const Var& x, const LinearWeights& weights, std::string_view op) {
  const Shape& shape = weights.weight->shape();
  require(shape.rank() == 2 && x.columns() == shape[1], op, "{} against {} {}", x.value(), weights.weight->name(),
          shape);
  if (weights.bias != nullptr) {
    require(weights.bias->shape().elements() == shape[0], op, "bias {} for {} outputs", weights.bias->shape(),
            shape[0]);
  }
}

Var linear(Pass& pass, const Var& x, LinearWeights weights, const LinearOptions& options) {
  require_fits(x, weights, "linear");
  ensure(!options.in_master_type || !pass.recording(), "linear", "a result in the master type has no gradient");
  const Shape& shape = weights.weight->shape();
  const Shape result{x.rows(), shape[0]};
  Var y(options.in_master_type ? pass.allocate_master(result) : pass.allocate(result), x.first_row());
  Var before;
  if (pass.recording() && needs_before(options.activation)) {
    before = Var(pass.allocate(result), x.first_row());
  }
  const LowRank* const addition = weights.weight->low_rank();
  y.want_gradient_only_if(x.wants_gradient() || is_trained(weights) || addition != nullptr);
  ConstView bias = weights.bias == nullptr ? ConstView() : weights.bias->vector();
  Tensor added;
  if (addition != nullptr) {
    added = low_rank(pass, x, y, *addition, bias);
    bias = added.view();
  }
  const Dropout dropout = pass.dropout(options.dropout, x.first_row());
  const UnpackedWeight weight(pass.backend(), *weights.weight, x.type());
  pass.backend().linear({
      .x = x.value(),
      .weight = weight.view(),
      .bias = bias,
      .activation = options.activation,
      .dropout = dropout,
      .y = y.value(),
      .before = before.empty() ? View() : before.value(),
  });
  if (pass.recording() && y.wants_gradient()) {
    pass.tape().record(LinearOp{x, y, before, weights, options.activation, dropout});
  }
  return y;
}

void linear_weight_gradient(Backend& backend, LinearWeights weights, ConstView d_y, ConstView x, double scale) {
  if (!is_trained(weights)) {
    return;
  }
  Trainable* const weight = weights.weight->is_trained() ? &weights.weight->trainable() : nullptr;
  Trainable* const bias = weights.bias != nullptr && weights.bias->is_trained() ? &weights.bias->trainable() : nullptr;
  Write write = (weight != nullptr ? weight : bias)->next_write();
  if (weight != nullptr && bias != nullptr && bias->next_write() != write) {
    // Only one of the two has contributions already (a tied weight): fill the other with zeros, to be added to.
    backend.fill((write == Write::overwrite ? *weight : *bias).gradient(), 0.0);
    write = Write::add;
  }
  backend.linear_weight_gradient({
      .d_y = d_y,
      .x = x,
      .d_weight = weight == nullptr ? View() : weight->gradient(),
      .d_bias = bias == nullptr ? View() : bias->gradient(),
      .write = write,
      .scale = scale,
  });
}

void LinearOp::backward(Backend& backend) {
  const View d_y = y.gradient();
  if (d_y.empty()) {
    return;
  }
  if (activation != Activation::none || dropout.active()) {
    backend.activation_backward({
        .activation = activation,
        .dropout = dropout,
        .y = y.value(),
        .before = before.empty() ? View() : before.value(),
        .d_y = d_y,
        .d_before = d_y,
    });
  }
  linear_weight_gradient(backend, weights, d_y, x.value());
  if (!x.wants_gradient()) {
    return;
  }
  const Var::Slot d_x = x.gradient_slot(backend);
  const UnpackedWeight weight(backend, *weights.weight, x.type());
  backend.linear_input_gradient({.d_y = d_y, .weight = weight.view(), .d_x = d_x.view, .write = d_x.write});
}

}  // namespace heed
