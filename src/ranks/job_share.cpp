#include "ranks/job_share.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/errors.h"
#include "base/system/processors.h"

namespace heed {
namespace {

ProcessorSet own_processors() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  ProcessorSet own{.machine = name.data(), .processors = {}, .quota = processor_quota()};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(static_cast<size_t>(processor), &set)) {
        own.processors.push_back(processor);
      }
    }
  }
  return own;
}

std::string as_text(const ProcessorSet& set) {
  return fmt::format("{} {} {}", set.machine, set.quota, fmt::join(set.processors, " "));
}

ProcessorSet processor_set_from(const std::string& text) {
  std::istringstream words(text);
  ProcessorSet set;
  words >> set.machine >> set.quota;
  for (int processor = 0; words >> processor;) {
    set.processors.push_back(processor);
  }
  return set;
}

}  // namespace

int processor_share(const std::vector<ProcessorSet>& ranks, size_t own) {
  const auto count_if = [&](const auto& counts) {
    return static_cast<double>(std::ranges::count_if(
        ranks, [&](const ProcessorSet& rank) { return rank.machine == ranks[own].machine && counts(rank); }));
  };
  double share = 0.0;
  for (const int processor : ranks[own].processors) {
    share +=
        1.0 / count_if([&](const ProcessorSet& rank) { return std::ranges::count(rank.processors, processor) > 0; });
  }
  share = std::min(share, ranks[own].quota / count_if([](const ProcessorSet&) { return true; }));
  constexpr double kRounding = 1e-6;
  return std::max(1, static_cast<int>(share + kRounding));
}

void share_processors(const Ranks& ranks) {
  std::vector<ProcessorSet> sets;
  for (const std::string& text : ranks.all_texts(as_text(own_processors()))) {
    sets.push_back(processor_set_from(text));
  }
  limit_processors(processor_share(sets, static_cast<size_t>(ranks.rank())));
}

}  // namespace heed
