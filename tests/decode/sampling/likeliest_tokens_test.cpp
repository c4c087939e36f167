#include "decode/sampling/likeliest_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.h"
#include "base/random.h"

namespace heed::test {
namespace {

using testing::HasSubstr;

// By sorting all.
std::vector<RankedToken> sorted(const std::vector<float>& row, const RowTokens& tokens, int64_t count) {
  std::vector<RankedToken> all;
  for (size_t column = 0; column < row.size(); ++column) {
    if (row[column] > -std::numeric_limits<float>::infinity()) {
      all.push_back({tokens.token(static_cast<int64_t>(column)), row[column]});
    }
  }
  std::ranges::stable_sort(all, std::greater(), &RankedToken::log_probability);
  all.resize(std::min(all.size(), static_cast<size_t>(count)));
  return all;
}

TEST(LikeliestTokens, AreThoseOfASortedRow) {
  for (const size_t columns : {1U, 5U, 63U, 64U, 65U, 640U, 1000U}) {
    std::vector<float> row(columns);
    std::vector<int32_t> candidates(columns);
    for (size_t i = 0; i < columns; ++i) {
      const double draw = uniform_draw(RandomKey{columns}, i);
      // Many ties, some columns that mean nothing.
      row[i] = draw < 0.1   ? std::numeric_limits<float>::quiet_NaN()
               : draw < 0.2 ? -std::numeric_limits<float>::infinity()
                            : -static_cast<float>(std::floor(40.0 * draw));
      candidates[i] = static_cast<int32_t>(3 * i + 2);
    }
    for (const int64_t count : {0, 1, 2, 20}) {
      for (const RowTokens& tokens : {RowTokens(), RowTokens(candidates)}) {
        EXPECT_EQ(likeliest_tokens(row.data(), static_cast<int64_t>(columns), tokens, count),
                  sorted(row, tokens, count))
            << columns << " columns, " << count;
      }
    }
  }
}

TEST(LikeliestTokens, TheirNumberIsLimited) {
  const auto refusal = [](int64_t count, EachToken each) -> std::string {
    try {
      validate_likeliest(count, each, "generation");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(20, EachToken::listed), "");
  EXPECT_EQ(refusal(0, EachToken::left_out), "");
  EXPECT_THAT(refusal(21, EachToken::listed), HasSubstr("0 to 20"));
  EXPECT_THAT(refusal(-1, EachToken::listed), HasSubstr("0 to 20"));
  EXPECT_THAT(refusal(1, EachToken::left_out), HasSubstr("scores of tokens"));
}

}  // namespace
}  // namespace heed::test
