#include "base/text/pattern.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(Pattern, AStarStandsForAnyCharactersAndAllElseForItself) {
  EXPECT_TRUE(matches_pattern("encoder.*", "encoder.layers.0.norm.gain"));
  EXPECT_TRUE(matches_pattern("*.bias", "output.bias"));
  EXPECT_TRUE(matches_pattern("*attention*weight", "encoder.layers.1.attention.output.weight"));
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("output.bias", "output.bias"));
  EXPECT_FALSE(matches_pattern("encoder", "encoder.norm.gain"));
  EXPECT_FALSE(matches_pattern("encoder.*", "decoder.norm.gain"));
  EXPECT_FALSE(matches_pattern("*.layers.1.*", "encoder.layers.11.norm.gain"));
  EXPECT_FALSE(matches_pattern("", "output.bias"));
}

TEST(Pattern, TheNearestNameNeedsTheFewestChanges) {
  EXPECT_EQ(nearest_to_pattern("encodr.*", {"decoder.norm.gain", "encoder.norm.gain"}), "encoder.norm.gain");
  EXPECT_EQ(nearest_to_pattern("*.bais", {"output.weight", "output.bias"}), "output.bias");
}

}  // namespace
}  // namespace heed
