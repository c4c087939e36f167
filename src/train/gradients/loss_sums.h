// What shards lost, summed over their targets.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/loss/loss.h"
#include "ranks/ranks.h"

namespace heed {

struct LossSums {
  double loss = 0.0, negative_log_likelihood = 0.0, kl_divergence = 0.0;
  int64_t targets = 0;

  void add(const LossSums& other);
};

LossSums sums_of(const TokenLosses& losses);
// Collective. Those of all ranks, each of which has as many, one rank's after the other's.
std::vector<LossSums> gathered(const Ranks& ranks, const std::vector<LossSums>& own);

}  // namespace heed
