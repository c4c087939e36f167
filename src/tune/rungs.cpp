#include "tune/rungs.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace heed {
namespace {

constexpr int64_t kMostRungs = 4;  // shares of 1/8, 1/4, 1/2, 1

}  // namespace

std::vector<Rung> rungs_of(int64_t trials) {
  const auto halvings = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(trials - 1, 0))));
  const int64_t count = std::clamp<int64_t>(halvings + 1, 1, kMostRungs);
  std::vector<Rung> rungs;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t before = rungs.empty() ? trials : std::max<int64_t>(1, (rungs.back().trials + 1) / 2);
    const bool is_last = i > 0 && i == count - 1;
    rungs.push_back(
        {std::ldexp(1.0, static_cast<int>(i - count + 1)), is_last ? std::min<int64_t>(before, 2) : before});
  }
  return rungs;
}

std::vector<size_t> trials_that_go_on(std::span<const double> values, std::span<const size_t> trials, int64_t kept) {
  const auto value_of = [&](size_t trial) { return std::isfinite(values[trial]) ? values[trial] : -INFINITY; };
  std::vector<size_t> order(trials.begin(), trials.end());
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return value_of(a) > value_of(b); });
  order.resize(std::min(order.size(), static_cast<size_t>(kept)));
  if (std::ranges::count(order, 0U) == 0) {
    order.push_back(0);
  }
  std::ranges::sort(order);
  return order;
}

double cost_of(std::span<const Rung> rungs) {
  double runs = 1.0, share = 0.0;  // the second seed
  for (const Rung& rung : rungs) {
    const int64_t with_recipe = share == 0.0 ? rung.trials : rung.trials + 1;
    runs += static_cast<double>(with_recipe) * (rung.share - share);
    share = rung.share;
  }
  return runs;
}

int64_t affordable_trials(int64_t wanted, double whole_runs) {
  int64_t trials = wanted;
  while (trials >= 2 && cost_of(rungs_of(trials)) > whole_runs) {
    --trials;
  }
  return trials < 2 ? 0 : trials;
}

}  // namespace heed
