#include "kernels/dropout.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(Dropout, PreservesTheExpectation) {
  for (const float p : {0.0F, 0.1F, 0.5F, 0.9F}) {
    const Dropout dropout = Dropout::of(Probability(p), RandomKey{8}, 1000);
    double sum = 0.0;
    for (int64_t r = 0; r < 500; ++r) {
      const RowRandom row = dropout.row(r);
      for (uint32_t c = 0; c < 500; ++c) {
        sum += static_cast<double>(dropout.factor(row, c));
      }
    }
    // A factor's variance is p / (1 - p).
    const double deviation = std::sqrt(static_cast<double>(p) / (1.0 - static_cast<double>(p)) / 250000.0);
    EXPECT_NEAR(sum / 250000.0, 1.0, 5.0 * deviation + 1e-7);
  }
}

TEST(Dropout, WithProbabilityZeroIsInactive) {
  EXPECT_FALSE(Dropout::none().active());
  EXPECT_FALSE(Dropout::of(Probability(0.0F), RandomKey{8}, 0).active());
  EXPECT_TRUE(Dropout::of(Probability(0.1F), RandomKey{8}, 0).active());
  EXPECT_EQ(Dropout::of(Probability(0.5F), RandomKey{8}, 0).scale(), 2.0F);
}

TEST(Dropout, RowsAreCountedFromTheFirst) {
  const Dropout whole = Dropout::of(Probability(0.5F), RandomKey{8}, 0);
  const Dropout part = Dropout::of(Probability(0.5F), RandomKey{8}, 40);
  for (int64_t r = 0; r < 20; ++r) {
    for (uint32_t c = 0; c < 20; ++c) {
      EXPECT_EQ(part.factor(part.row(r), c), whole.factor(whole.row(40 + r), c));
    }
  }
}

}  // namespace
}  // namespace heed
