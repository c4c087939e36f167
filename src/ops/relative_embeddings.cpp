// scores[r, h, d] = q[r, h] . a[d]
//   d_q[r, h] = the sum over d of d_scores[r, h, d] a[d]    d_a[d] = the sum over r and h of d_scores[r, h, d] q[r, h]
// A product for each head. Saves the queries.
#include "ops/relative_keys.h"

#include "ops/linear.h"
#include "ops/tape.h"

namespace heed {
namespace {

View columns_of_head(const View& x, int64_t heads, int64_t head) {
  return x.column_range(head * (x.columns() / heads), x.columns() / heads);
}

}  // namespace

Var relative_keys(Pass& pass, const Columns& queries, const Weight& embeddings, Heads head_count) {
  const int64_t heads = head_count.value, distances = embeddings.shape()[0];
  require(heads > 0 && queries.count == heads * embeddings.shape()[1], "relative_keys",
          "{} heads of queries {} against {} {}", heads, queries.value(), embeddings.name(), embeddings.shape());
  Var scores(pass.allocate_master({queries.var.rows(), heads * distances}), queries.var.first_row());
  for (int64_t head = 0; head < heads; ++head) {
    pass.backend().linear({.x = columns_of_head(queries.value(), heads, head),
                           .weight = embeddings.value(),
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
  const View q = queries.value();
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
  for (int64_t head = 0; head < heads; ++head) {
    backend.copy(columns_of_head(scores.gradient(), heads, head), d_scores.view());
    linear_weight_gradient(backend, {embeddings}, d_scores.view(), columns_of_head(q, heads, head));
    if (!d_queries.empty()) {
      backend.linear_input_gradient({.d_y = d_scores.view(),
                                     .weight = embeddings->value(),
                                     .d_x = columns_of_head(d_queries, heads, head),
                                     .write = Write::add});
    }
  }
}

}  // namespace heed
