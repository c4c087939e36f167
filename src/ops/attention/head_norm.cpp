// For each row and group of columns g:
//   n = (x_g - mean) / deviation    y_g = n * gain + bias
// with the statistics and the gradients of ops/rows/add_norm.cpp, of the group instead of the row; those of gain and
// bias are sums over rows, and over the groups that share them.
// Saves x, and each group's mean and 1 / deviation.
#include "ops/attention/head_norm.h"

#include "ops/tape.h"
#include "ops/trainable.h"

namespace heed {
namespace {

// The columns of one part, the groups in them, and the rows of its statistics.
struct NormPart {
  int64_t first, count, groups, rows;
};

NormPart part_of(const HeadNormOp& op, int64_t part) {
  const int64_t parts = op.parts(), count = op.x.count / parts;
  return {part * count, count, op.groups.count / parts, op.x.var.rows()};
}

// The part's range of a vector, or a vector that all parts share.
ConstView range_of(const Weight* weight, const NormPart& part) {
  if (weight == nullptr) {
    return {};
  }
  const bool is_shared = weight->shape().elements() == part.count / part.groups;
  return is_shared ? weight->vector() : weight->vector().column_range(part.first, part.count);
}

View range_of(View gradient, const NormPart& part) {
  const bool is_shared = gradient.empty() || gradient.columns() == part.count / part.groups;
  return is_shared ? gradient : gradient.column_range(part.first, part.count);
}

}  // namespace

int64_t HeadNormOp::parts() const {
  return weights.gain->shape().elements() * groups.count == x.count ? 1 : groups.count;
}

Var head_norm(Pass& pass, const Columns& x, NormGroups groups, const NormWeights& weights) {
  require(groups.count > 0 && x.count % groups.count == 0, "head_norm", "{} groups do not divide {}", groups.count,
          x.value());
  const int64_t width = x.count / groups.count;
  for (const Weight* weight : {weights.gain, weights.bias}) {
    if (weight != nullptr) {
      const int64_t own = weight->shape().elements();
      require(own == width || own == x.count, "head_norm", "groups of {} columns against {} {}", width, weight->name(),
              weight->shape());
      require(own == weights.gain->shape().elements(), "head_norm", "{} {} beside gains {}", weight->name(),
              weight->shape(), weights.gain->shape());
    }
  }
  HeadNormOp op{x, Var(pass.allocate({x.var.rows(), x.count}), x.var.first_row()), {}, groups, weights};
  const int64_t parts = op.parts();
  op.statistics = pass.allocate_master({parts * x.var.rows(), 2 * groups.count / parts});
  for (int64_t i = 0; i < parts; ++i) {
    const NormPart part = part_of(op, i);
    pass.backend().add_norm({
        .kind = weights.kind,
        .gain_form = weights.gain_form,
        .groups = part.groups,
        .residual = x.value().column_range(part.first, part.count),
        .gain = range_of(weights.gain, part),
        .bias = range_of(weights.bias, part),
        .epsilon = weights.epsilon,
        .normed = op.normed.value().column_range(part.first, part.count),
        .statistics = op.statistics.view().row_range(i * part.rows, part.rows),
    });
  }
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
  const View d_gain = gradient_to_add_to(backend, weights.gain), d_bias = gradient_to_add_to(backend, weights.bias);
  for (int64_t i = 0; i < parts(); ++i) {
    const NormPart part = part_of(*this, i);
    backend.add_norm_backward({
        .kind = weights.kind,
        .gain_form = weights.gain_form,
        .groups = part.groups,
        .sum = x.value().column_range(part.first, part.count),
        .statistics = statistics.view().row_range(i * part.rows, part.rows),
        .gain = range_of(weights.gain, part),
        .d_normed = normed.gradient().column_range(part.first, part.count),
        .d_residual = slot.view.column_range(x.first + part.first, part.count),
        .write_residual = slot.write,
        .d_gain = range_of(d_gain, part),
        .d_bias = range_of(d_bias, part),
    });
  }
}

}  // namespace heed
