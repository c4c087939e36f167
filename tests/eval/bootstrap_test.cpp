#include "eval/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heed {
namespace {

// A metric whose bootstrap is known: the sum of one number a sentence.
double itself(double sum) { return sum; }

std::vector<double> numbers(size_t count, double first, double step) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = first + step * static_cast<double>(i);
  }
  return values;
}

TEST(BootstrapSamples, DrawSentencesUniformlyWithReplacement) {
  const BootstrapSamples samples{.sentences = 10};
  std::vector<int64_t> drawn(10);
  for (int64_t s = 0; s < samples.samples; ++s) {
    const std::vector<uint32_t> chosen = samples.sample(s);
    ASSERT_EQ(chosen.size(), 10U);
    for (const uint32_t sentence : chosen) {
      ASSERT_LT(sentence, 10U);
      ++drawn[sentence];
    }
  }
  for (const int64_t count : drawn) {
    EXPECT_NEAR(static_cast<double>(count), 1000.0, 150.0);  // five standard deviations
  }
}

TEST(BootstrapSamples, DependOnlyOnSeedAndIndex) {
  const BootstrapSamples samples{.sentences = 50, .samples = 10, .seed = 3};
  EXPECT_EQ(samples.sample(4), (BootstrapSamples{.sentences = 50, .samples = 99, .seed = 3}.sample(4)));
  EXPECT_NE(samples.sample(4), samples.sample(5));
  EXPECT_NE(samples.sample(4), (BootstrapSamples{.sentences = 50, .samples = 10, .seed = 4}.sample(4)));
}

TEST(PairedBootstrap, UsesTheSameSentencesForBothSystems) {
  const std::vector<double> a = numbers(40, 1.0, 1.0), b = numbers(40, 0.5, 1.0);
  const PairedScores scores = paired_bootstrap<double>(a, b, {.sentences = 40}, itself);
  EXPECT_DOUBLE_EQ(scores.a - scores.b, 20.0);
  ASSERT_EQ(scores.samples_a.size(), 1000U);
  for (size_t s = 0; s < 1000; ++s) {
    EXPECT_NEAR(scores.samples_a[s] - scores.samples_b[s], 20.0, 1e-9);
  }
  const Interval interval = interval_of(scores.samples_a);
  EXPECT_NEAR(interval.mean, scores.a, 10.0);  // its standard deviation is 73 / sqrt(1000)
  EXPECT_LT(interval.low, scores.a - 80.0);
  EXPECT_GT(interval.high, scores.a + 80.0);
}

TEST(PairedBootstrap, ComputesThePublishedPValue) {
  // Differences 0, 2, 4, 10 of mean 4: one exceeds it by more than 5, one by more than 0.
  PairedScores scores{.a = 5.0, .b = 0.0, .samples_a = {1.0, 0.0, 7.0, 10.0}, .samples_b = {1.0, 2.0, 3.0, 0.0}};
  EXPECT_DOUBLE_EQ(scores.p_value(), 2.0 / 5.0);
  scores.b = 10.0;
  EXPECT_DOUBLE_EQ(scores.p_value(), 2.0 / 5.0) << "two-sided";
  scores.b = 11.0;
  EXPECT_DOUBLE_EQ(scores.p_value(), 1.0 / 5.0) << "6 is not more than 6";
}

TEST(PairedBootstrap, CutsOffTwoAndAHalfPercentAtEachEnd) {
  std::vector<double> scores = numbers(1000, 0.0, 1.0);
  std::ranges::reverse(scores);
  const Interval interval = interval_of(scores);
  EXPECT_DOUBLE_EQ(interval.mean, 499.5);
  EXPECT_DOUBLE_EQ(interval.low, 25.0);
  EXPECT_DOUBLE_EQ(interval.high, 974.0);
  EXPECT_DOUBLE_EQ(interval_of({3.0}).high, 3.0);
}

TEST(PairedBootstrap, RefusesInconsistentSizes) {
  const std::vector<double> a = numbers(4, 0.0, 1.0), b = numbers(3, 0.0, 1.0);
  EXPECT_THROW(paired_bootstrap<double>(a, b, {.sentences = 4}, itself), ShapeError);
  EXPECT_THROW(paired_bootstrap<double>(a, a, {.sentences = 3}, itself), ShapeError);
  EXPECT_THROW(interval_of({}), ShapeError);
  EXPECT_THROW(PairedScores{}.p_value(), ShapeError);
}

}  // namespace
}  // namespace heed
