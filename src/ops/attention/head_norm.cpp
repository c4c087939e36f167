// For each row and group of columns g:
//   n = (x_g - mean) / deviation    y_g = n * gain + bias
// with the statistics and the gradients of ops/rows/add_norm.cpp, of the group instead of the row; those of gain and
// bias are sums over rows and groups.
// Saves x, and each group's mean and 1 / deviation.
#include "ops/attention/head_norm.h"

#include "ops/tape.h"
#include "ops/trainable.h"

namespace heed {

Var head_norm(Pass& pass, const Columns& x, NormGroups groups, const NormWeights& weights) {
  require(groups.count > 0 && x.count % groups.count == 0, "head_norm", "{} groups do not divide {}", groups.count,
          x.value());
  const int64_t width = x.count / groups.count;
  for (const Weight* weight : {weights.gain, weights.bias}) {
    if (weight != nullptr) {
      require(weight->shape().elements() == width, "head_norm", "groups of {} columns against {} {}", width,
              weight->name(), weight->shape());
    }
  }
  HeadNormOp op{x, Var(pass.allocate({x.var.rows(), x.count}), x.var.first_row()),
                pass.allocate_master({x.var.rows(), 2 * groups.count}), groups, weights};
  pass.backend().add_norm({
      .kind = weights.kind,
      .gain_form = weights.gain_form,
      .groups = groups.count,
      .residual = x.value(),
      .gain = weights.gain->vector(),
      .bias = weights.bias != nullptr ? weights.bias->vector() : ConstView(),
      .epsilon = weights.epsilon,
      .normed = op.normed.value(),
      .statistics = op.statistics.view(),
  });
  Var normed = op.normed;
  normed.want_gradient_only_if(x.var.wants_gradient() || is_trained(weights));
  if (pass.recording() && normed.wants_gradient()) {
    pass.tape().record(std::move(op));
  }
  return normed;
}

void HeadNormOp::backward(Backend& backend) const {
  if (normed.gradient().empty()) {
    return;
  }
  Var source = x.var;
  const Var::Slot slot = source.gradient_slot(backend);
  if (slot.write == Write::overwrite && x.count < source.columns()) {
    backend.fill(slot.view, 0.0);  // the columns beside these
  }
  backend.add_norm_backward({
      .kind = weights.kind,
      .gain_form = weights.gain_form,
      .groups = groups.count,
      .sum = x.value(),
      .statistics = statistics.view(),
      .gain = weights.gain->vector(),
      .d_normed = normed.gradient(),
      .d_residual = slot.view.column_range(x.first, x.count),
      .write_residual = slot.write,
      .d_gain = gradient_to_add_to(backend, weights.gain),
      .d_bias = gradient_to_add_to(backend, weights.bias),
  });
}

}  // namespace heed
