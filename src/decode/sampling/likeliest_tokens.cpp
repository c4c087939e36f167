#include "decode/sampling/likeliest_tokens.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/errors.h"
#include "decode/sampling/score_blocks.h"

namespace heed {

void validate_likeliest(int64_t likeliest, EachToken each, std::string_view where) {
  require_option(likeliest >= 0 && likeliest <= kMaxLikeliest, where, "likeliest tokens", likeliest,
                 fmt::format("0 to {}", kMaxLikeliest));
  require<ConfigError>(likeliest == 0 || each == EachToken::listed, where,
                       "the likeliest tokens are listed with each token: ask for the scores of tokens too");
}

std::vector<RankedToken> likeliest_tokens(const float* row, int64_t columns, const RowTokens& tokens, int64_t count) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<RankedToken> best;
  if (count == 0) {
    return best;
  }
  best.reserve(static_cast<size_t>(count) + 1);
  const auto is_full = [&] { return std::ssize(best) == count; };
  for (int64_t first = 0; first < columns; first += kScoreBlock) {
    // A later token must have more than the last of a full list.
    const float least = std::nextafter(is_full() ? best.back().log_probability : -kInfinity, kInfinity);
    const int64_t last = std::min(first + kScoreBlock, columns);
    if (last == first + kScoreBlock && !any_reaches(row + first, least)) {
      continue;
    }
    for (int64_t column = first; column < last; ++column) {
      const float found = row[column];
      if (!(found > (is_full() ? best.back().log_probability : -kInfinity))) {
        continue;
      }
      if (is_full()) {
        best.pop_back();
      }
      const auto at = std::ranges::upper_bound(best, found, std::greater(), &RankedToken::log_probability);
      best.insert(at, {tokens.token(column), found});
    }
  }
  return best;
}

}  // namespace heed
