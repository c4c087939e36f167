// What Muon takes beside Adam: the products that orthogonalize, and their scratch memory.
#pragma once

#include "models/config.h"
#include "optim/optimizer.h"
#include "tensor/dtype.h"

namespace heed {

struct MuonCost {
  double flops = 0.0;         // of an update
  int64_t scratch_bytes = 0;  // of all threads, kept between updates
};

struct MuonRun {
  OptimizerConfig optimizer;
  DType storage;  // of directions
  int threads;
};

// The cost of an update, run on a backend that counts. A thread that orthogonalizes whole matrices has scratch memory
// for the largest; where there are fewer matrices than threads, all threads work on one. Other optimizers cost nothing
// here.
MuonCost muon_cost(const ModelConfig& config, const MuonRun& run);

}  // namespace heed
