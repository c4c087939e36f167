#include "kernels/cpu/rows/buckets.h"

namespace heed::cpu {

void spread_buckets(const SpreadBuckets& call) {
  const auto table = host<float>(call.table);
  const int32_t* const buckets = host<int32_t>(call.buckets).data;
  const auto scores = host<float>(call.scores);
  for (int64_t head = 0; head < scores.rows; ++head) {
    for (int64_t d = 0; d < scores.columns; ++d) {
      scores(head, d) = table(buckets[d], head);
    }
  }
}

void spread_buckets_backward(const SpreadBucketsBackward& call) {
  const auto d_scores = host<float>(call.d_scores);
  const int32_t* const buckets = host<int32_t>(call.buckets).data;
  const auto d_table = host<float>(call.d_table);
  for (int64_t head = 0; head < d_scores.rows; ++head) {
    for (int64_t d = 0; d < d_scores.columns; ++d) {
      d_table(buckets[d], head) += d_scores(head, d);
    }
  }
}

}  // namespace heed::cpu
