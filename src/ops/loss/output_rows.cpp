// z = x W[rows]^T + b[rows], or with a cap, cap * tanh(z / cap)
// log p[r, i] = z[r, c(r, i)] - log(sum over i of e^z[r, c(r, i)])      c(r, i): column of the i-th candidate of row r
#include "ops/loss/output_rows.h"

#include <algorithm>

#include "kernels/calls/linear.h"
#include "kernels/calls/loss.h"
#include "kernels/calls/rows.h"
#include "kernels/host_copy.h"

namespace heed {
namespace {

std::unique_ptr<PackedWeight> selected(const Pass& pass, const WeightView& weight, std::span<const int32_t> rows) {
  Backend& backend = pass.backend();
  if (weight.packed != nullptr) {
    return backend.select_packed_rows(*weight.packed, rows);
  }
  const Tensor indices = pass.indices(rows);
  const Tensor matrix = pass.allocate({static_cast<int64_t>(rows.size()), weight.columns()}, weight.matrix.type());
  backend.select_rows({.x = weight.matrix, .rows = indices.view(), .y = matrix.view()});
  return backend.pack_matrix(matrix.view());
}

}  // namespace

OutputRows::OutputRows(const Pass& pass, const LinearWeights& output, std::span<const int32_t> rows) {
  ensure(!pass.recording() && output.weight->low_rank() == nullptr && !output.weight->is_unpacked_for_products(),
         "output rows", "are not for training");
  require(!rows.empty(), "output rows", "no row of {} is chosen", output.weight->name());
  for (const int32_t row : rows) {
    require(row >= 0 && row < output.weight->shape()[0], "output rows", "row {} is outside {} {}", row,
            output.weight->name(), output.weight->shape());
  }
  weight_ = selected(pass, output.weight->value(), rows);
  if (output.bias != nullptr) {
    const ConstView bias = output.bias->vector();
    bias_ = Tensor({static_cast<int64_t>(rows.size())}, bias.type());
    const Tensor indices = pass.indices(rows);
    pass.backend().select_rows({.x = bias.as_column(), .rows = indices.view(), .y = bias_.view().as_column()});
  }
}

Logits output_logits(Pass& pass, ConstView x, const OutputRows& rows, SoftCapAt cap) {
  const Var z(pass.allocate_master({x.rows(), rows.count()}), 0);
  pass.backend().linear({.x = x, .weight = rows.weight(), .bias = rows.bias(), .y = z.value()});
  soft_cap(pass, z, cap);
  return Logits(z);
}

void log_softmax(const Pass& pass, const Logits& logits, const CandidateRanges& candidates, View log_probs) {
  const ConstView z = logits.var().value();
  const auto& [columns, begins, ends] = candidates;
  require(std::ssize(begins) == z.rows() && begins.size() == ends.size() && log_probs.rows() == z.rows(), "log_softmax",
          "{} and {} ends of candidates for {} and {}", begins.size(), ends.size(), z, log_probs);
  for (size_t r = 0; r < begins.size(); ++r) {
    ensure(0 <= begins[r] && begins[r] < ends[r] && ends[r] <= columns.columns() &&
               ends[r] - begins[r] <= log_probs.columns(),
           "log_softmax", "candidates {} to {} of {}, with {} columns of results", begins[r], ends[r],
           columns.columns(), log_probs.columns());
  }
  Tensor ranges = pass.allocate({2, z.rows()}, DType::i32);
  put_values(pass.backend(), begins, ranges.view().row_range(0, 1));
  put_values(pass.backend(), ends, ranges.view().row_range(1, 1));
  pass.backend().selected_log_softmax(
      {.logits = z, .columns = columns, .ranges = ranges.view(), .log_probs = log_probs});
}

}  // namespace heed
