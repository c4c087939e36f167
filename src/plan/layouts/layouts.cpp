#include "plan/layouts/layouts.h"

#include "base/errors.h"

namespace heed {
std::vector<Layout> layouts_of(int ranks) {
  std::vector<Layout> layouts;
  for (int tensor = 1; tensor <= ranks; ++tensor) {
    if (ranks % tensor != 0) {
      continue;
    }
    for (int pipeline = 1; pipeline <= ranks / tensor; ++pipeline) {
      if (ranks / tensor % pipeline == 0) {
        layouts.push_back({ranks / tensor / pipeline, pipeline, tensor});
      }
    }
  }
  return layouts;
}

void validate(const RanksOptions& options) {
  require<ConfigError>(options.layout || (options.ranks >= 1 && options.ranks <= kMaxRanks), "plan",
                       "{} ranks, expected 1 to {}", options.ranks, kMaxRanks);
  if (options.layout) {
    const int64_t needed = options.layout->ranks();
    require<ConfigError>(needed <= kMaxRanks, "plan", "{} needs {} ranks, expected 1 to {}", to_text(*options.layout),
                         needed, kMaxRanks);
    require<ConfigError>(options.ranks == 0 || options.ranks == needed, "plan", "{} needs {} ranks, not {}",
                         to_text(*options.layout), needed, options.ranks);
  }
  const int64_t local_updates = options.local_updates.value_or(1);
  require<ConfigError>(local_updates >= 1, "plan", "{} local updates, expected 1 or more", local_updates);
}

}  // namespace heed
