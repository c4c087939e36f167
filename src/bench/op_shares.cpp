#include "bench/op_shares.h"

#include <algorithm>

namespace heed {

std::vector<BenchOp> op_shares(const Profile& profile, int64_t steps) {
  double all = 0.0;
  for (const auto& [name, op] : profile.ops) {
    all += op.seconds;
  }
  std::vector<BenchOp> shares;
  for (const auto& [name, op] : profile.ops) {
    shares.push_back({name, static_cast<double>(op.calls) / static_cast<double>(steps), op.seconds / all});
  }
  std::ranges::sort(shares, std::ranges::greater(), &BenchOp::share);
  return shares;
}

}  // namespace heed
