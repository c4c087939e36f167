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
  for (const Piece& piece : pieces_) {
    if (piece.begins_here && written_columns(piece.columns.var) < piece.columns.var.columns()) {
      backend_.fill(piece.columns.var.gradient(), 0.0);
    }
  }
}

View AttentionGradients::view(size_t operand) const {
  const Piece& piece = pieces_[operand];
  return piece.own.empty() ? gradient_of(piece.columns) : piece.own.view();
}

void AttentionGradients::finish() const {
  for (const Piece& piece : pieces_) {
    if (!piece.own.empty()) {
      backend_.add(piece.own.view(), gradient_of(piece.columns));
    }
  }
}

void AttentionGradients::open(Columns columns) {
  bool begins_here = columns.var.gradient_slot(backend_).write == Write::overwrite;
  bool overlaps = false;
  for (const Piece& piece : pieces_) {
    const Columns& before = piece.columns;
    if (before.var.same_as(columns.var)) {
      begins_here |= piece.begins_here;  // as for the operand before, in the same Var
      overlaps |= before.first < columns.first + columns.count && columns.first < before.first + before.count;
    }
  }
  Tensor own;
  if (!begins_here || overlaps) {
    own = Tensor({columns.var.rows(), columns.count}, columns.var.type(), backend_.arena());
  }
  pieces_.push_back({std::move(columns), begins_here, std::move(own)});
}

// Columns of a Var's gradient that are written in place.
int64_t AttentionGradients::written_columns(const Var& var) const {
  int64_t columns = 0;
  for (const Piece& piece : pieces_) {
    columns += piece.columns.var.same_as(var) && piece.own.empty() ? piece.columns.count : 0;
  }
  return columns;
}

}  // namespace heed
