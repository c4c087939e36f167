// The simpler simple recurrent unit, token by token, and its gradients.
#include "kernels/calls/ssru.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {
namespace {

using reference::Values;

double forget_gate(const Values& gates, const Values& bias, int64_t row, int64_t column) {
  return 1.0 / (1.0 + std::exp(-(gates(row, column) + (bias.empty() ? 0.0 : bias(0, column)))));
}

// Writes a cell to a row of memory, and returns what was written.
double remember(const KeyValueView& memory, int64_t row, int64_t column, double cell) {
  reference::set(memory.keys, row, column, cell);
  const double rounded = reference::get(memory.keys, row, column);
  reference::set(memory.values, row, column, cell - rounded);
  return rounded + reference::get(memory.values, row, column);
}

}  // namespace

void ReferenceBackend::ssru(const SsruForward& call) {
  const Values gates(call.gates), candidates(call.candidates), bias(call.bias);
  Values output(gates.rows(), gates.columns()), cells(gates.rows(), gates.columns());
  for (int64_t s = 0; s < call.segments->count(); ++s) {
    const bool remembers = !call.memory.keys.empty();
    const int64_t known = remembers ? call.memory.segments->length(s) - call.segments->length(s) : 0;
    for (int64_t c = 0; c < gates.columns(); ++c) {
      double cell = 0.0;
      if (known > 0) {
        const int64_t row = call.memory.row(s, known - 1);
        cell = reference::get(call.memory.keys, row, c) + reference::get(call.memory.values, row, c);
      }
      for (int64_t t = 0; t < call.segments->length(s); ++t) {
        const int64_t row = call.segments->begin(s) + t;
        const double f = forget_gate(gates, bias, row, c);
        cell = f * cell + (1.0 - f) * candidates(row, c);
        if (remembers) {
          cell = remember(call.memory, call.memory.row(s, known + t), c, cell);
        }
        cells(row, c) = cell;
        output(row, c) = std::max(cell, 0.0);
      }
    }
  }
  reference::write(output, call.output);
  reference::write(cells, call.cells);
}

void ReferenceBackend::ssru_backward(const SsruBackward& call) {
  const Values gates(call.gates), candidates(call.candidates), bias(call.bias), cells(call.cells),
      d_output(call.d_output);
  Values d_gates(gates.rows(), gates.columns()), d_candidates(gates.rows(), gates.columns());
  for (int64_t s = 0; s < call.segments->count(); ++s) {
    for (int64_t c = 0; c < gates.columns(); ++c) {
      double carried = 0.0;
      for (int64_t row = call.segments->end(s) - 1; row >= call.segments->begin(s); --row) {
        const double f = forget_gate(gates, bias, row, c);
        const double before = row > call.segments->begin(s) ? cells(row - 1, c) : 0.0;
        const double d_cell = carried + (cells(row, c) > 0.0 ? d_output(row, c) : 0.0);
        d_gates(row, c) = d_cell * (before - candidates(row, c)) * f * (1.0 - f);
        d_candidates(row, c) = d_cell * (1.0 - f);
        carried = d_cell * f;
      }
    }
  }
  reference::write(d_gates, call.d_gates);
  reference::write(d_candidates, call.d_candidates);
}

}  // namespace heed
