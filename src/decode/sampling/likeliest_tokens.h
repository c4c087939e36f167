// The likeliest tokens of a row of log-probabilities.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "decode/steppers/row_tokens.h"
#include "heed/types/writing/token_scores.h"

namespace heed {

struct RankedToken {
  int32_t token = 0;
  float log_probability = 0.0F;

  bool operator==(const RankedToken&) const = default;
};

// ConfigError unless the options for listing tokens belong together.
void validate_likeliest(int64_t likeliest, EachToken each, std::string_view where);

// The row's `count` likeliest tokens, the likeliest first and in a tie the smaller one. Fewer where no others have a
// probability above 0.
std::vector<RankedToken> likeliest_tokens(const float* row, int64_t columns, const RowTokens& tokens, int64_t count);

}  // namespace heed
