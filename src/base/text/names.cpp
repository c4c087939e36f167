#include "base/text/names.h"

#include <limits>
#include <optional>

namespace heed {
namespace {

// Letters inserted, left out, replaced or exchanged with their neighbour.
size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> edits(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t& best = edits[i][j];
      if (i == 0 || j == 0) {
        best = i + j;
        continue;
      }
      const size_t replaced = edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      best = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, edits[i - 2][j - 2] + 1);
      }
    }
  }
  return edits[a.size()][b.size()];
}

std::string_view without_dashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// A beginning of a few letters tells little about a longer word.
bool begins(std::string_view word, std::string_view beginning) {
  return word.starts_with(beginning) && beginning.size() >= 2;
}

// Smaller is closer; none when the candidate is too far away.
std::optional<size_t> distance(std::string_view word, std::string_view candidate) {
  const size_t edits = edits_between(word, candidate);
  if (begins(candidate, word) || (begins(word, candidate) && 2 * candidate.size() >= word.size())) {
    return edits;
  }
  constexpr size_t kAfterBeginnings = 1000;  // any candidate that shares the beginning is closer
  return edits <= (word.size() + 1) / 3 ? std::optional(kAfterBeginnings + edits) : std::nullopt;
}

}  // namespace

std::string suggest_name(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr size_t kMaxWordLength = 64;
  if (word.size() > kMaxWordLength) {
    return "";
  }
  std::string_view nearest;
  size_t least = std::numeric_limits<size_t>::max();
  for (const std::string_view candidate : candidates) {
    const std::optional<size_t> found = distance(without_dashes(word), without_dashes(candidate));
    if (found && *found < least) {
      nearest = candidate;
      least = *found;
    }
  }
  return nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest);
}

}  // namespace heed
