// Positions that self-attention sees as distances: terms of its scores.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "nn/weights/weights.h"
#include "ops/attention/attention.h"

namespace heed {

// What the layers of a stack share.
class RelativePositions {
 public:
  virtual ~RelativePositions() = default;

  // The term of the scores, for distances up to `furthest`. Safe to call from several threads at once.
  virtual RelativeScores scores(Pass& pass, int64_t furthest) const = 0;
};

// ALiBi: -slope * |distance|, with the slopes 2^(-8h / n) of heads h = 1 to n. When n is not a power of two: those of
// the power below, then every other one of the power above.
std::vector<double> alibi_slopes(Heads heads);

// Where ranks divide the heads, the slopes are those of this rank's.
class Alibi final : public RelativePositions {
 public:
  Alibi(Heads heads, Visibility::Reach reach, const Parts& parts = {})
      : heads_(heads), own_(parts.share(heads.value)), reach_(reach) {}
  RelativeScores scores(Pass& pass, int64_t furthest) const override;

 private:
  Heads heads_;
  PartRange own_;
  Visibility::Reach reach_;
  mutable std::mutex mutex_;
  mutable RelativeScores known_;  // a table that grows when more distances are needed
};

// T5's buckets of distances. Half of them hold one distance each, the others grow logarithmically up to max_distance,
// beyond which all distances share the last one. Where queries see later keys too, these have half of the buckets.
struct BucketRule {
  int64_t buckets = 32, max_distance = 128;
  Visibility::Reach reach = Visibility::Reach::causal;

  int64_t bucket_of(int64_t distance) const;  // of the key's position less the query's
};

// A learned score of each head and bucket, one table for all layers.
class BucketBias final : public RelativePositions {
 public:
  BucketBias(const Scope& scope, Heads heads, const BucketRule& rule, Initialization initialization);
  RelativeScores scores(Pass& pass, int64_t furthest) const override;

 private:
  const Weight* table_;
  int64_t first_;                 // distance
  std::vector<int32_t> buckets_;  // of each distance from there on
};

}  // namespace heed
