// Where the time of a profile goes.
#pragma once

#include <vector>

#include "bench/bench.h"
#include "kernels/profiled_backend.h"

namespace heed {

// Most expensive first; calls are those of one of `steps` equal ones.
std::vector<BenchOp> op_shares(const Profile& profile, int64_t steps = 1);

}  // namespace heed
