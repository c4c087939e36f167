// scores[h, d] = table[buckets[d], h]    d_table[b, h] += the sum of d_scores[h, d] over all d with buckets[d] = b
// Saves the buckets.
#include "ops/attention/spread_buckets.h"

#include "ops/tape.h"
#include "ops/trainable.h"

namespace heed {

Var spread_buckets(Pass& pass, const Weight& table, std::span<const int32_t> buckets) {
  for (const int32_t bucket : buckets) {
    require(bucket >= 0 && bucket < table.shape()[0], "spread_buckets", "bucket {} is outside {} {}", bucket,
            table.name(), table.shape());
  }
  Var scores(pass.allocate_master({table.shape()[1], static_cast<int64_t>(buckets.size())}), 0);
  SpreadBucketsOp op{scores, pass.indices(buckets), &table};
  pass.backend().spread_buckets({table.value().matrix, op.buckets.view(), scores.value()});
  scores.want_gradient_only_if(table.is_trained());
  if (pass.recording() && scores.wants_gradient()) {
    pass.tape().record(std::move(op));
  }
  return scores;
}

void SpreadBucketsOp::backward(Backend& backend) const {
  const ConstView d_scores = scores.gradient();
  if (!d_scores.empty()) {
    backend.spread_buckets_backward({buckets.view(), d_scores, table->trainable().gradient_to_add_to(backend)});
  }
}

}  // namespace heed
