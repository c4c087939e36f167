// Which tokens the columns of a row of next-token distributions are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/errors.h"

namespace heed {

// A whole vocabulary, or a sequence's candidates (see Candidates), which must outlive this.
class RowTokens {
 public:
  RowTokens() = default;
  explicit RowTokens(std::span<const int32_t> candidates) : candidates_(candidates) {}

  bool all() const { return candidates_.empty(); }
  // The columns of a row in a table of this width.
  int64_t columns(int64_t width) const { return all() ? width : std::ssize(candidates_); }
  int32_t token(int64_t column) const {
    return all() ? static_cast<int32_t>(column) : candidates_[static_cast<size_t>(column)];
  }
  bool has(int32_t token, int64_t width) const {
    return all() ? token >= 0 && token < width : std::ranges::binary_search(candidates_, token);
  }
  // The token must be one of them.
  int64_t column(int32_t token) const {
    if (all()) {
      return token;
    }
    const auto found = std::ranges::lower_bound(candidates_, token);
    ensure(found != candidates_.end() && *found == token, "search", "token {} is not a candidate", token);
    return found - candidates_.begin();
  }

 private:
  std::span<const int32_t> candidates_;
};

}  // namespace heed
