#include "plan/layouts.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/errors.h"
#include "base/names.h"

namespace heed {
namespace {

constexpr int64_t kMaxRanks = 65536;
constexpr std::array<std::pair<std::string_view, int64_t PlanLayout::*>, 3> kAxes{
    {{"data", &PlanLayout::data}, {"pipeline", &PlanLayout::pipeline}, {"tensor", &PlanLayout::tensor}}};

}  // namespace

PlanLayout parse_plan_layout(std::string_view text, std::string_view where) {
  PlanLayout layout;
  std::array<bool, kAxes.size()> seen{};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = std::min(part.find('='), part.size());
    const auto axis = value_named(where, part.substr(0, equals), kAxes);
    const std::string_view digits = part.substr(std::min(equals + 1, part.size()));
    int64_t count = 0;
    const auto [read_to, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    const bool is_count = error == std::errc() && read_to == digits.data() + digits.size();
    require<ConfigError>(is_count && count >= 1 && count <= kMaxRanks, where,
                         "'{}' is not a name and a number from 1 to {}, as in data=2,pipeline=2", part, kMaxRanks);
    for (size_t i = 0; i < kAxes.size(); ++i) {
      if (kAxes[i].second == axis) {
        require<ConfigError>(!std::exchange(seen[i], true), where, "'{}' names {} twice", text, kAxes[i].first);
      }
    }
    layout.*axis = count;
  }
  return layout;
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
  require<ConfigError>(options.local_updates >= 1, "plan", "{} local updates, expected 1 or more",
                       options.local_updates);
}

}  // namespace heed
