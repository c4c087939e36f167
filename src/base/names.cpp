#include "base/names.h"

#include <numeric>

namespace heed {
namespace {

size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string suggest_name(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr size_t kMaxWordLength = 64;
  if (candidates.empty() || word.size() > kMaxWordLength) {
    return "";
  }
  const std::string_view nearest =
      *std::ranges::min_element(candidates, {}, [&](std::string_view c) { return edits_between(word, c); });
  const bool near = edits_between(word, nearest) <= std::max<size_t>(2, word.size() / 2);
  return near ? fmt::format(", did you mean '{}'?", nearest) : "";
}

}  // namespace heed
