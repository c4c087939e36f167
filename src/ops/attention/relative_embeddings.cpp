// On keys: scores[r, h, d] = q[r, h] . a[d]
//   d_q[r, h] = the sum over d of d_scores[r, h, d] a[d]    d_a[d] = the sum over r and h of d_scores[r, h, d] q[r, h]
// A product for each head. Saves the queries.
// On values: with P the weights of the keys j, after dropout, and d(r, j) the distance of j from query r,
//   o[r, h] = the sum over j of P[r, h, j] (v[j] + b[d(r, j)])
//           = the sum over j of P[r, h, j] v[j], plus the sum over d of mass[r, h, d] b[d]
//   mass[r, h, d] = the sum of P[r, h, j] over the j with d(r, j) = d, which attention gives
//   d_mass[r, h, d] = d_o[r, h] . b[d]    d_b[d] = the sum over r and h of mass[r, h, d] d_o[r, h]
// Again a product for each head: b is the matrix of a linear map of the mass. Saves the mass.
#include "ops/attention/relative_embeddings.h"

#include "kernels/calls/linear.h"
#include "ops/rows/linear.h"
#include "ops/tape.h"
#include "ops/unpacked_weight.h"

namespace heed {
namespace {

template <class AnyView>
AnyView columns_of_head(const AnyView& x, int64_t heads, int64_t head) {
  return x.column_range(head * (x.columns() / heads), x.columns() / heads);
}

}  // namespace

Var relative_keys(Pass& pass, const Columns& queries, const Weight& embeddings, Heads head_count) {
  const int64_t heads = head_count.value, distances = embeddings.shape()[0];
  require(heads > 0 && queries.count == heads * embeddings.shape()[1], "relative_keys",
          "{} heads of queries {} against {} {}", heads, queries.value(), embeddings.name(), embeddings.shape());
  Var scores(pass.allocate_master({queries.var.rows(), heads * distances}), queries.var.first_row());
  const UnpackedWeight unpacked(pass.backend(), embeddings, queries.value().type());
  for (int64_t head = 0; head < heads; ++head) {
    pass.backend().linear({.x = columns_of_head(queries.value(), heads, head),
                           .weight = unpacked.view(),
                           .y = columns_of_head(scores.value(), heads, head)});
  }
  scores.want_gradient_only_if(queries.var.wants_gradient() || embeddings.is_trained());
  if (pass.recording() && scores.wants_gradient()) {
    pass.tape().record(RelativeKeysOp{queries, &embeddings, heads, scores});
  }
  return scores;
}

void RelativeKeysOp::backward(Backend& backend) {
  if (scores.gradient().empty()) {
    return;
  }
  const ConstView q = queries.value();
  View d_queries;
  if (queries.var.wants_gradient()) {
    const Var::Slot slot = queries.var.gradient_slot(backend);
    if (slot.write == Write::overwrite) {
      backend.fill(slot.view, 0.0);
    }
    d_queries = slot.view.column_range(queries.first, queries.count);
  }
  // Products take gradients in the storage type.
  Tensor d_scores({scores.rows(), scores.columns() / heads}, q.type(), backend.arena());
  const UnpackedWeight unpacked(backend, *embeddings, q.type());
  for (int64_t head = 0; head < heads; ++head) {
    backend.copy(columns_of_head(scores.gradient(), heads, head), d_scores.view());
    linear_weight_gradient(backend, {embeddings}, d_scores.view(), columns_of_head(q, heads, head));
    if (!d_queries.empty()) {
      backend.linear_input_gradient({.d_y = d_scores.view(),
                                     .weight = unpacked.view(),
                                     .d_x = columns_of_head(d_queries, heads, head),
                                     .write = Write::add});
    }
  }
}

Tensor add_relative_values(Pass& pass, const Tensor& mass, const Weight& embeddings, View output) {
  Backend& backend = pass.backend();
  const int64_t width = embeddings.shape()[0], heads = output.columns() / width;
  // Products take operands in the storage type, and what they are added to in the master type.
  Tensor stored = pass.allocate(mass.shape());
  backend.copy(mass.view(), stored.view());
  const Tensor before = pass.allocate_master({output.rows(), width});
  const UnpackedWeight unpacked(backend, embeddings, stored.type());
  for (int64_t head = 0; head < heads; ++head) {
    const View own = columns_of_head(output, heads, head);
    backend.copy(own, before.view());
    backend.linear(
        {.x = columns_of_head(stored.view(), heads, head), .weight = unpacked.view(), .bias = before.view(), .y = own});
  }
  return stored;
}

Tensor relative_values_backward(Backend& backend, const Weight& embeddings, ConstView mass, ConstView d_output) {
  const int64_t heads = d_output.columns() / embeddings.shape()[0];
  Tensor d_mass({mass.rows(), mass.columns()}, backend.master_type(), backend.arena());
  const UnpackedWeight unpacked(backend, embeddings, d_output.type());
  for (int64_t head = 0; head < heads; ++head) {
    const ConstView d_own = columns_of_head(d_output, heads, head);
    backend.linear_input_gradient(
        {.d_y = d_own, .weight = unpacked.view(), .d_x = columns_of_head(d_mass.view(), heads, head)});
    linear_weight_gradient(backend, {&embeddings}, d_own, columns_of_head(mass, heads, head));
  }
  return d_mass;
}

}  // namespace heed
