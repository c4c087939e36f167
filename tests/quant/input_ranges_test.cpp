#include "quant/input_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace heed::test {
namespace {

std::vector<float> normal_values(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(normal_draw(RandomKey{7}, i));
  }
  return values;
}

double squared_error(const std::vector<float>& values, float scale) {
  double error = 0.0;
  for (const float x : values) {
    const float rounded = scale * std::clamp(std::nearbyint(x / scale), -127.0F, 127.0F);
    error += std::pow(static_cast<double>(x) - static_cast<double>(rounded), 2);
  }
  return error;
}

const InputRange& range_of(const std::vector<InputRange>& ranges, RangeRule rule) {
  return *std::ranges::find(ranges, rule, &InputRange::rule);
}

TEST(InputRanges, TheLeastCutsNothingOff) {
  const auto ranges = candidate_ranges(normal_values(1000), 9.0F);
  EXPECT_EQ(range_of(ranges, RangeRule::least).largest, 9.0F);
  for (const InputRange& range : ranges) {
    EXPECT_TRUE(range.largest > 0.0F && range.largest <= 9.0F) << name_of(range.rule);
  }
}

TEST(InputRanges, APercentileCutsOffItsShare) {
  std::vector<float> values = normal_values(100'000);
  values[17] = 50.0F;
  const auto ranges = candidate_ranges(values, 50.0F);
  for (const size_t i : {1U, 2U}) {
    const auto beyond = std::ranges::count_if(values, [&](float x) { return std::abs(x) > ranges[i].largest; });
    EXPECT_LE(beyond, i == 1 ? 10 : 100);
    EXPECT_GE(beyond, i == 1 ? 5 : 80);
  }
}

// One value is a hundred times as large as the others: steps for all of them would be coarse.
TEST(InputRanges, TheSquaredErrorIsLessWhereAnOutlierIsCutOff) {
  std::vector<float> values = normal_values(100'000);
  values[17] = 100.0F;
  const auto ranges = candidate_ranges(values, 100.0F);
  const InputRange& chosen = range_of(ranges, RangeRule::squared_error);
  for (const InputRange& range : ranges) {
    EXPECT_LE(squared_error(values, chosen.scale()), 1.02 * squared_error(values, range.scale())) << range.largest;
  }
  EXPECT_LT(range_of(ranges, RangeRule::entropy).largest, 50.0F);
}

TEST(InputRanges, ZerosHaveNone) { EXPECT_TRUE(candidate_ranges(std::vector<float>(10, 0.0F), 0.0F).empty()); }

}  // namespace
}  // namespace heed::test
