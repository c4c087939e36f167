#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/errors.h"

namespace heed {
namespace {

TEST(Schedule, ConstantWarmsUpAndStays) {
  const ScheduleConfig schedule{.kind = ScheduleKind::constant, .peak = 2.0, .warmup = 4};
  EXPECT_EQ(learning_rate(schedule, 1), 0.5);
  EXPECT_EQ(learning_rate(schedule, 4), 2.0);
  EXPECT_EQ(learning_rate(schedule, 1000), 2.0);
  EXPECT_EQ(learning_rate({.kind = ScheduleKind::constant, .peak = 2.0, .warmup = 0}, 1), 2.0);
}

TEST(Schedule, InverseSquareRootPeaksAfterTheWarmUp) {
  const ScheduleConfig schedule{.kind = ScheduleKind::inverse_sqrt, .peak = 1.0, .warmup = 100};
  EXPECT_EQ(learning_rate(schedule, 50), 0.5);
  EXPECT_EQ(learning_rate(schedule, 100), 1.0);
  EXPECT_EQ(learning_rate(schedule, 400), 0.5);
  // The paper's: model^-0.5 min(n^-0.5, n w^-1.5).
  for (const int64_t n : {1, 99, 100, 101, 5000}) {
    const double paper = std::min(std::pow(n, -0.5), static_cast<double>(n) * std::pow(100.0, -1.5));
    EXPECT_NEAR(learning_rate(schedule, n), 10.0 * paper, 1e-12);
  }
}

TEST(Schedule, CosineEndsAtItsFinalRate) {
  const ScheduleConfig schedule{.kind = ScheduleKind::cosine, .peak = 1.0, .final = 0.1, .warmup = 10, .length = 110};
  EXPECT_EQ(learning_rate(schedule, 5), 0.5);
  EXPECT_EQ(learning_rate(schedule, 10), 1.0);
  EXPECT_NEAR(learning_rate(schedule, 60), 0.55, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 110), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 500), 0.1, 1e-12);
}

TEST(Schedule, TimedCosineFollowsTheShareOfTheTime) {
  const ScheduleConfig schedule{.kind = ScheduleKind::timed_cosine, .peak = 1.0, .final = 0.1, .warmup = 10};
  EXPECT_EQ(learning_rate(schedule, 1000, 0.0), 1.0);
  EXPECT_NEAR(learning_rate(schedule, 1000, 0.5), 0.55, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 5, 0.5), 0.275, 1e-12) << "half of the warm-up";
  EXPECT_NEAR(learning_rate(schedule, 10, 1.0), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 10, 1.5), 0.1, 1e-12);
}

TEST(Schedule, RefusesInvalidSettings) {
  const auto refuse = [](const ScheduleConfig& schedule) { EXPECT_THROW(schedule.validate(), ConfigError); };
  refuse({.peak = 0.0});
  refuse({.peak = std::nan("")});
  refuse({.peak = 1.0, .final = 2.0});
  refuse({.warmup = -1});
  refuse({.length = -1});
  refuse({.kind = ScheduleKind::cosine, .warmup = 10, .length = 10});
  refuse({.kind = ScheduleKind::timed_cosine, .length = 10});
}

}  // namespace
}  // namespace heed
