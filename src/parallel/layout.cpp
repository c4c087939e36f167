#include "parallel/layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/errors.h"
#include "base/text/names.h"

namespace heed {
namespace {

constexpr std::array<std::pair<std::string_view, int Layout::*>, 3> kAxes{
    {{"data", &Layout::data}, {"pipeline", &Layout::pipeline}, {"tensor", &Layout::tensor}}};
constexpr int kNotNamed = 0;

int parse_count(std::string_view where, std::string_view part, std::string_view digits) {
  int count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  require<ConfigError>(error == std::errc() && end == digits.data() + digits.size() && count >= 1 && count <= kMaxRanks,
                       where, "'{}' is not a name and a number from 1 to {}, as in data=2,pipeline=2", part, kMaxRanks);
  return count;
}

// `data` is kNotNamed if the text does not name it.
Layout read_axes(std::string_view text, std::string_view where) {
  Layout layout{.data = kNotNamed};
  std::array<bool, kAxes.size()> seen{};
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    require<ConfigError>(comma != rest.size() - 1, where, "'{}' ends with a comma", text);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const size_t equals = part.find('=');
    const auto axis = value_named(where, part.substr(0, equals), kAxes);
    const std::string_view digits = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    layout.*axis = parse_count(where, part, digits);
    for (size_t i = 0; i < kAxes.size(); ++i) {
      if (kAxes[i].second == axis) {
        require<ConfigError>(!seen[i], where, "'{}' names {} twice", text, kAxes[i].first);
        seen[i] = true;
      }
    }
  }
  return layout;
}

// Without `data` if it was not named.
std::string named_axes(const Layout& layout) {
  std::string text;
  for (const auto& [name, axis] : kAxes) {
    if (layout.*axis != kNotNamed) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, layout.*axis);
    }
  }
  return text;
}

}  // namespace

Layout parse_layout(std::string_view text, int64_t ranks, std::string_view where) {
  Layout layout = read_axes(text, where);
  const int64_t copy = Layout{.pipeline = layout.pipeline, .tensor = layout.tensor}.ranks();
  require<ConfigError>(ranks <= kMaxRanks, where, "{} ranks, expected at most {}", ranks, kMaxRanks);
  if (layout.data == kNotNamed && ranks > 0 && copy <= ranks) {
    require<ConfigError>(ranks % copy == 0, where, "{} needs a multiple of {} ranks, but there are {}",
                         named_axes(layout), copy, ranks);
    layout.data = static_cast<int>(ranks / copy);
  }
  const int64_t needed = copy * std::max(1, layout.data);
  require<ConfigError>(ranks == 0 || needed == ranks, where, "{} needs {} ranks, but there {} {}", named_axes(layout),
                       needed, ranks == 1 ? "is" : "are", ranks);
  layout.data = std::max(1, layout.data);
  return layout;
}

std::string to_text(const Layout& layout) { return named_axes(layout); }

int rank_at(const Layout& layout, const LayoutPosition& position) {
  return (position.data * layout.pipeline + position.pipeline) * layout.tensor + position.tensor;
}

LayoutPosition position_of(const Layout& layout, int rank) {
  const int stage = rank / layout.tensor;
  return {stage / layout.pipeline, stage % layout.pipeline, rank % layout.tensor};
}

std::vector<int> members_of(const Layout& layout, RankGroup group, int rank) {
  const LayoutPosition own = position_of(layout, rank);
  std::vector<int> members;
  for (int other = 0; other < layout.ranks(); ++other) {
    const LayoutPosition position = position_of(layout, other);
    const bool data = position.data == own.data, pipeline = position.pipeline == own.pipeline,
               tensor = position.tensor == own.tensor;
    const bool in_group = group == RankGroup::data       ? pipeline && tensor
                          : group == RankGroup::pipeline ? data && tensor
                          : group == RankGroup::tensor   ? data && pipeline
                                                         : tensor;
    if (in_group) {
      members.push_back(other);
    }
  }
  return members;
}

}  // namespace heed
