#include "ops/attention/attention_gradients.h"

#include <utility>

namespace heed {
namespace {

View gradient_of(const Columns& columns) { return columns.var.gradient().column_range(columns.first, columns.count); }

}  // namespace

AttentionGradients::AttentionGradients(Backend& backend, const AttentionInputs& inputs) : backend_(backend) {
  for (const Columns* operand : {&inputs.queries, &inputs.keys, &inputs.values}) {
    open(*operand);
  }
  for (const Operand& one : operands_) {
    if (one.begins_here && written_columns(one.columns.var) < one.columns.var.columns()) {
      backend_.fill(one.columns.var.gradient(), 0.0);
    }
  }
}

View AttentionGradients::view(size_t operand) const {
  const Operand& one = operands_[operand];
  return one.own.empty() ? gradient_of(one.columns) : one.own.view();
}

void AttentionGradients::finish() const {
  for (const Operand& one : operands_) {
    if (!one.own.empty()) {
      backend_.add(one.own.view(), gradient_of(one.columns));
    }
  }
}

void AttentionGradients::open(Columns columns) {
  bool begins_here = columns.var.gradient_slot(backend_).write == Write::overwrite;
  bool overlaps = false;
  for (const Operand& one : operands_) {
    const Columns& before = one.columns;
    if (before.var.same_as(columns.var)) {
      begins_here |= one.begins_here;  // as for the operand before, in the same Var
      overlaps |= before.first < columns.first + columns.count && columns.first < before.first + before.count;
    }
  }
  Tensor own;
  if (!begins_here || overlaps) {
    own = Tensor({columns.var.rows(), columns.count}, columns.var.type(), backend_.arena());
  }
  operands_.push_back({std::move(columns), begins_here, std::move(own)});
}

// Columns of a Var's gradient that are written in place.
int64_t AttentionGradients::written_columns(const Var& var) const {
  int64_t columns = 0;
  for (const Operand& one : operands_) {
    columns += one.columns.var.same_as(var) && one.own.empty() ? one.columns.count : 0;
  }
  return columns;
}

}  // namespace heed
