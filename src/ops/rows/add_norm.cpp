// sum = residual + dropout(branch)    n = (sum - mean) / deviation    normed = n * gain + bias
//   layer: deviation = sqrt(variance + epsilon)      rms: mean = 0, deviation = sqrt(mean(sum^2) + epsilon)
// where means and variance are those of a row. With g = d_normed * gain and m the dropout factors:
//   layer: d_residual = d_sum + (g - mean(g) - n mean(g n)) / deviation
//   rms:   d_residual = d_sum + (g - n mean(g n)) / deviation
//   d_branch = d_residual * m    d_gain = sum over rows of d_normed * n    d_bias = sum over rows of d_normed
// Where a gain is stored as what it has above 1, 1 + gain takes its place in all but d_gain.
// Saves the sum, and each row's mean and 1 / deviation.
#include "ops/rows/add_norm.h"

#include "ops/tape.h"
#include "ops/trainable.h"

namespace heed {
namespace {

void require_fits(const Var& x, const NormWeights& weights) {
  for (const Weight* weight : {weights.gain, weights.bias}) {
    if (weight != nullptr) {
      require(x.columns() == weight->shape().elements(), "norm", "{} against {} {}", x.value(), weight->name(),
              weight->shape());
    }
  }
}

void require_same(const Var& residual, const Var& branch) {
  require(residual.rows() == branch.rows() && residual.columns() == branch.columns(), "add",
          "residual {} and branch {}", residual.value(), branch.value());
}

// Runs the kernel and records it. A norm alone has no branch (its sum is the residual), a sum alone has no `normed`.
void run(Pass& pass, AddNormOp op) {
  const bool has_norm = !op.normed.empty();
  if (has_norm) {
    op.statistics = pass.allocate_master({op.sum.rows(), 2});
  }
  const NormWeights& weights = op.weights;
  const bool norm_is_trained = has_norm && is_trained(weights);
  const bool sum_wants = op.residual.wants_gradient() || (!op.branch.empty() && op.branch.wants_gradient());
  if (!op.branch.empty()) {
    op.sum.want_gradient_only_if(sum_wants);
  }
  if (has_norm) {
    op.normed.want_gradient_only_if(sum_wants || norm_is_trained);
  }
  const bool recorded = pass.recording() && (sum_wants || norm_is_trained);
  pass.backend().add_norm({
      .kind = weights.kind,
      .gain_form = weights.gain_form,
      .residual = op.residual.value(),
      .branch = op.branch.empty() ? ConstView() : op.branch.value(),
      .dropout = op.dropout,
      .gain = has_norm ? weights.gain->vector() : ConstView(),
      .bias = has_norm && weights.bias != nullptr ? weights.bias->vector() : ConstView(),
      .epsilon = weights.epsilon,
      .sum = op.branch.empty() ? View() : op.sum.value(),
      .normed = has_norm ? op.normed.value() : View(),
      .statistics = op.statistics.view(),
  });
  if (recorded) {
    pass.tape().record(std::move(op));
  }
}

}  // namespace

bool is_trained(const NormWeights& weights) {
  return weights.gain->is_trained() || (weights.bias != nullptr && weights.bias->is_trained());
}

Stream add_norm(Pass& pass, const Var& residual, const Var& branch, const NormWeights& weights,
                const DropoutSite& dropout) {
  require_same(residual, branch);
  require_fits(residual, weights);
  const Shape shape{residual.rows(), residual.columns()};
  Stream stream{Var(pass.allocate(shape), residual.first_row()), Var(pass.allocate(shape), residual.first_row())};
  run(pass, {residual, branch, stream.residual, stream.normed, Tensor(), weights,
             pass.dropout(dropout, residual.first_row())});
  return stream;
}

Var norm(Pass& pass, const Var& x, const NormWeights& weights) {
  require_fits(x, weights);
  Var normed(pass.allocate({x.rows(), x.columns()}), x.first_row());
  run(pass, {x, Var(), x, normed, Tensor(), weights, Dropout::none()});
  return normed;
}

Var add(Pass& pass, const Var& residual, const Var& branch, const DropoutSite& dropout) {
  require_same(residual, branch);
  Var sum(pass.allocate({residual.rows(), residual.columns()}), residual.first_row());
  run(pass, {residual, branch, sum, Var(), Tensor(), NormWeights{}, pass.dropout(dropout, residual.first_row())});
  return sum;
}

void AddNormOp::backward(Backend& backend) {
  // A norm alone reads its residual directly: other contributions to the residual's gradient are added there, not here.
  const bool alone = branch.empty();
  const ConstView d_sum = alone ? ConstView() : sum.gradient();
  const ConstView d_normed = normed.empty() ? ConstView() : normed.gradient();
  if (d_sum.empty() && d_normed.empty()) {
    return;
  }
  const Var::Slot d_residual = residual.gradient_slot(backend);
  View d_branch;
  if (!alone) {
    const Var::Slot slot = branch.gradient_slot(backend);
    ensure(slot.write == Write::overwrite, "add_norm", "a branch that is read elsewhere too");
    d_branch = slot.view;
  }
  const bool has_norm = !normed.empty();
  backend.add_norm_backward({
      .kind = weights.kind,
      .gain_form = weights.gain_form,
      .sum = sum.value(),
      .statistics = statistics.view(),
      .gain = has_norm ? weights.gain->vector() : ConstView(),
      .dropout = dropout,
      .d_normed = d_normed,
      .d_sum = d_sum,
      .d_residual = d_residual.view,
      .write_residual = d_residual.write,
      .d_branch = d_branch,
      .d_gain = has_norm ? gradient_to_add_to(backend, weights.gain) : View(),
      .d_bias = has_norm ? gradient_to_add_to(backend, weights.bias) : View(),
  });
}

}  // namespace heed
