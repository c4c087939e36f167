// The layouts that a number of ranks can take, with what they cost, the best first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallel/wire_format.h"
#include "plan/layouts/layout_cost.h"

namespace heed {

struct RanksOptions {
  int64_t ranks = 0;             // 0: those of `layout`
  std::optional<Layout> layout;  // the only one; otherwise all with this number of ranks
  PlanLink link;
  double memory = 0.0;                   // bytes that a rank has; 0: no limit
  double flops_per_second = 0.0;         // of a rank; 0: this machine's, by the short run
  double memory_bandwidth = 20e9;        // bytes a second, for the optimizer; used with flops_per_second alone
  std::optional<WireType> gradients;     // none: the recipe's; of differences too
  std::optional<int64_t> local_updates;  // none: the recipe's
};

struct ImpossibleLayout {
  Layout layout;
  std::vector<std::string> reasons;  // at least one
};

struct RanksPlan {
  RanksOptions options;  // with the number of ranks and their FLOPs a second filled in
  int64_t shards = 1;    // of an update
  double alone = 0.0;    // seconds of an update on one rank, whatever its memory
  // Those that fit into the memory first, among them the one with the shortest update.
  std::vector<LayoutCost> possible;
  std::vector<ImpossibleLayout> impossible;

  bool fits(const LayoutCost& cost) const {
    return options.memory == 0.0 || static_cast<double>(cost.memory.total()) <= options.memory;
  }
  const LayoutCost* chosen() const { return !possible.empty() && fits(possible.front()) ? &possible.front() : nullptr; }
  // The share of the ranks' time that one rank alone would need for the same.
  double efficiency(const LayoutCost& cost) const {
    return alone / (static_cast<double>(cost.layout.ranks()) * cost.time.total());
  }
};

// All layouts with this number of ranks.
std::vector<Layout> layouts_of(int ranks);

// ConfigError unless the numbers are in range and agree.
void validate(const RanksOptions& options);

}  // namespace heed
