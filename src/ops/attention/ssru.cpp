// For each sequence and column, with c = 0 before the first token:
//   f[t] = sigmoid(g[t] + b)    c[t] = f[t] c[t-1] + (1 - f[t]) x[t]    y[t] = max(c[t], 0)
// With d_c[t] = d_y[t] where c[t] > 0, else 0, + f[t+1] d_c[t+1]:
//   d_g[t] = d_c[t] (c[t-1] - x[t]) f[t] (1 - f[t])    d_x[t] = d_c[t] (1 - f[t])    d_b = the sum over rows of d_g
// Saves g, x and the cells c; f is computed again.
#include "ops/attention/ssru.h"

#include <utility>

#include "kernels/calls/linear.h"
#include "ops/tape.h"
#include "ops/trainable.h"

namespace heed {
namespace {

ConstView bias_of_gate(const Weight* bias) { return bias == nullptr ? ConstView() : bias->vector(); }

Var run_ssru(Pass& pass, const Var& projected, const Segments& segments, const Weight* gate_bias,
             const KeyValueView& memory, const View& cells) {
  const int64_t width = projected.columns() / 2;
  require(projected.columns() % 2 == 0, "ssru", "{} are not gates and as many candidates", projected.value());
  require(segments.rows() == projected.rows(), "ssru", "segments of {} rows for {}", segments.rows(),
          projected.value());
  require(gate_bias == nullptr || gate_bias->shape().elements() == width, "ssru", "{} gates against {} {}", width,
          gate_bias == nullptr ? "" : gate_bias->name(), gate_bias == nullptr ? Shape{width} : gate_bias->shape());
  Var output(pass.allocate({projected.rows(), width}), projected.first_row());
  pass.backend().ssru({
      .gates = projected.value().column_range(0, width),
      .candidates = projected.value().column_range(width, width),
      .bias = bias_of_gate(gate_bias),
      .segments = &segments,
      .memory = memory,
      .output = output.value(),
      .cells = cells,
  });
  return output;
}

}  // namespace

Var ssru(Pass& pass, const Var& projected, const Segments& segments, const Weight* gate_bias) {
  Tensor cells;
  if (pass.recording()) {
    cells = pass.allocate_master({projected.rows(), projected.columns() / 2});
  }
  Var output = run_ssru(pass, projected, segments, gate_bias, {}, cells.view());
  output.want_gradient_only_if(projected.wants_gradient() || (gate_bias != nullptr && gate_bias->is_trained()));
  if (pass.recording() && output.wants_gradient()) {
    pass.tape().record(SsruOp{projected, output, &segments, gate_bias, std::move(cells)});
  }
  return output;
}

Var ssru(Pass& pass, const Var& projected, const Segments& segments, const Weight* gate_bias,
         const KeyValueView& cells) {
  ensure(!pass.recording(), "ssru", "a cache has no gradient");
  const int64_t width = projected.columns() / 2;
  require(cells.keys.columns() == width && cells.values.columns() == width && cells.keys.type() == pass.storage(),
          "ssru", "cells of {} columns in a cache of {} and {}", width, cells.keys, cells.values);
  require(cells.segments->count() == segments.count(), "ssru", "{} sequences for a cache of {}", segments.count(),
          cells.segments->count());
  return run_ssru(pass, projected, segments, gate_bias, cells, View());
}

void SsruOp::backward(Backend& backend) {
  if (output.gradient().empty()) {
    return;
  }
  const int64_t width = output.columns();
  const Var::Slot slot = projected.gradient_slot(backend);
  ensure(slot.write == Write::overwrite, "ssru", "a projection that is read elsewhere too");
  const View d_gates = slot.view.column_range(0, width);
  backend.ssru_backward({
      .gates = projected.value().column_range(0, width),
      .candidates = projected.value().column_range(width, width),
      .bias = bias_of_gate(gate_bias),
      .segments = segments,
      .cells = cells.view(),
      .d_output = output.gradient(),
      .d_gates = d_gates,
      .d_candidates = slot.view.column_range(width, width),
  });
  if (gate_bias != nullptr && gate_bias->is_trained()) {
    Trainable& trainable = gate_bias->trainable();
    backend.linear_weight_gradient({.d_y = d_gates,
                                    .x = projected.value(),
                                    .d_weight = View(),
                                    .d_bias = trainable.gradient(),
                                    .write = trainable.next_write()});
  }
}

}  // namespace heed
