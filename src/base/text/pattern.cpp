#include "base/text/pattern.h"

#include <algorithm>
#include <numeric>

namespace heed {
namespace {

// Edits of single characters that make the name match; a star takes any characters for nothing.
size_t edits_to_match(std::string_view pattern, std::string_view name) {
  std::vector<size_t> row(name.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (const char c : pattern) {
    size_t diagonal = row[0];
    row[0] += c == '*' ? 0 : 1;
    for (size_t j = 1; j <= name.size(); ++j) {
      const size_t above = row[j];
      row[j] = c == '*' ? std::min(above, row[j - 1])
                        : std::min({above + 1, row[j - 1] + 1, diagonal + (c == name[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view name) { return edits_to_match(pattern, name) == 0; }

std::string_view nearest_to_pattern(std::string_view pattern, const std::vector<std::string_view>& names) {
  return *std::ranges::min_element(names, {}, [&](std::string_view name) { return edits_to_match(pattern, name); });
}

}  // namespace heed
