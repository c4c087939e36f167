// scores[h, d] = table[buckets[d], h]: a learned score of each bucket of distances, spread over the distances.
#pragma once

#include <span>

#include "ops/pass.h"
#include "ops/var.h"
#include "ops/weight.h"

namespace heed {

// The table [buckets, heads] is a vector: it is in the master type, and so are the scores [heads, distances].
Var spread_buckets(Pass& pass, const Weight& table, std::span<const int32_t> buckets);

struct SpreadBucketsOp {
  Var scores;
  Tensor buckets;
  const Weight* table;

  void backward(Backend& backend) const;
};

}  // namespace heed
