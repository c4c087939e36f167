#include "plan/layouts.h"

#include <algorithm>

#include "base/errors.h"
#include "parallel/layout.h"

namespace heed {
namespace {

constexpr int64_t kMaxRanks = 65536;

}  // namespace

PlanLayout parse_plan_layout(std::string_view text, int64_t ranks, std::string_view where) {
  Layout layout = parse_layout(text, where);
  if (ranks >= 1 && ranks <= kMaxRanks) {
    layout = layout_for(layout, static_cast<int>(ranks), where);
  }
  return {std::max(1, layout.data), layout.pipeline, layout.tensor};
}

std::string show(const PlanLayout& layout) {
  return fmt::format("data={},pipeline={},tensor={}", layout.data, layout.pipeline, layout.tensor);
}

std::vector<PlanLayout> layouts_of(int64_t ranks) {
  std::vector<PlanLayout> layouts;
  for (int64_t tensor = 1; tensor <= ranks; ++tensor) {
    if (ranks % tensor != 0) {
      continue;
    }
    for (int64_t pipeline = 1; pipeline <= ranks / tensor; ++pipeline) {
      if (ranks / tensor % pipeline == 0) {
        layouts.push_back({ranks / tensor / pipeline, pipeline, tensor});
      }
    }
  }
  return layouts;
}

void check(const RanksOptions& options) {
  require<ConfigError>(options.layout || (options.ranks >= 1 && options.ranks <= kMaxRanks), "plan",
                       "{} ranks, expected 1 to {}", options.ranks, kMaxRanks);
  if (options.layout) {
    const int64_t needed = options.layout->ranks();
    require<ConfigError>(needed <= kMaxRanks, "plan", "{} needs {} ranks, expected 1 to {}", show(*options.layout),
                         needed, kMaxRanks);
    require<ConfigError>(options.ranks == 0 || options.ranks == needed, "plan", "{} needs {} ranks, not {}",
                         show(*options.layout), needed, options.ranks);
  }
  const int64_t local_updates = options.local_updates.value_or(1);
  require<ConfigError>(local_updates >= 1, "plan", "{} local updates, expected 1 or more", local_updates);
}

}  // namespace heed
