// scores[h, d] = table[buckets[d], h], and its gradient.
#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::spread_buckets(const SpreadBuckets& call) {
  const Values table(call.table);
  const auto buckets = host<int32_t>(call.buckets);
  Values scores(call.scores.rows(), call.scores.columns());
  for (int64_t head = 0; head < scores.rows(); ++head) {
    for (int64_t d = 0; d < scores.columns(); ++d) {
      scores(head, d) = table(buckets(0, d), head);
    }
  }
  reference::write(scores, call.scores);
}

void ReferenceBackend::spread_buckets_backward(const SpreadBucketsBackward& call) {
  const Values d_scores(call.d_scores);
  const auto buckets = host<int32_t>(call.buckets);
  Values d_table(call.d_table.rows(), call.d_table.columns());
  for (int64_t head = 0; head < d_scores.rows(); ++head) {
    for (int64_t d = 0; d < d_scores.columns(); ++d) {
      d_table(buckets(0, d), head) += d_scores(head, d);
    }
  }
  reference::write(d_table, call.d_table, Write::add);
}

}  // namespace heed
