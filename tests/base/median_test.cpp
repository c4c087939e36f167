#include "base/median.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(Median, IsTheMiddleOfTheSortedValues) {
  EXPECT_EQ(median({3.0}), 3.0);
  EXPECT_EQ(median({9.0, 1.0, 2.0}), 2.0);
}

TEST(Median, OfAnEvenNumberOfValuesIsTheUpperMiddle) { EXPECT_EQ(median({4.0, 1.0, 3.0, 2.0}), 3.0); }

}  // namespace
}  // namespace heed
