// y[r] = dropout(scale * table[tokens[r]] + positions[position_rows[r]] + types[type_rows[r]]) and its gradients.
#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::embedding(const EmbeddingForward& call) {
  const auto tokens = host<int32_t>(call.tokens);
  const Values table(call.table), positions(call.positions), types(call.types);
  Values y(call.tokens.columns(), table.columns());
  for (int64_t r = 0; r < y.rows(); ++r) {
    for (int64_t c = 0; tokens(0, r) >= 0 && c < y.columns(); ++c) {
      y(r, c) = call.scale * table(tokens(0, r), c);
      if (!positions.empty()) {
        y(r, c) += positions(host<int32_t>(call.position_rows)(0, r), c);
      }
      if (!types.empty()) {
        y(r, c) += types(host<int32_t>(call.type_rows)(0, r), c);
      }
    }
  }
  reference::drop(y, call.dropout);
  reference::write(y, call.y);
}

void ReferenceBackend::embedding_backward(const EmbeddingBackward& call) {
  const auto tokens = host<int32_t>(call.tokens);
  Values d_y(call.d_y), d_table(call.d_table), d_positions(call.d_positions), d_types(call.d_types);
  reference::drop(d_y, call.dropout);
  for (int64_t r = 0; r < d_y.rows(); ++r) {
    for (int64_t c = 0; c < d_y.columns(); ++c) {
      if (!d_table.empty() && tokens(0, r) >= 0) {
        d_table(tokens(0, r), c) += call.scale * d_y(r, c);
      }
      if (!d_positions.empty()) {
        d_positions(host<int32_t>(call.position_rows)(0, r), c) += d_y(r, c);
      }
      if (!d_types.empty()) {
        d_types(host<int32_t>(call.type_rows)(0, r), c) += d_y(r, c);
      }
    }
  }
  reference::write(d_table, call.d_table);
  reference::write(d_positions, call.d_positions);
  reference::write(d_types, call.d_types);
}

}  // namespace heed
