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

TEST(Schedule, ATrapezoidStaysAtItsPeakAndGoesDownInALine) {
  const ScheduleConfig schedule{
      .kind = ScheduleKind::trapezoid, .peak = 1.0, .final = 0.1, .warmup = 10, .length = 200, .cooldown = 0.25};
  EXPECT_EQ(learning_rate(schedule, 5), 0.5);
  EXPECT_EQ(learning_rate(schedule, 10), 1.0);
  EXPECT_EQ(learning_rate(schedule, 150), 1.0);
  EXPECT_NEAR(learning_rate(schedule, 175), 0.55, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 190), 0.28, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 200), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 500), 0.1, 1e-12);
}

TEST(Schedule, ATimedTrapezoidFollowsTheShareOfTheTime) {
  const ScheduleConfig schedule{
      .kind = ScheduleKind::timed_trapezoid, .peak = 1.0, .final = 0.1, .warmup = 10, .cooldown = 0.5};
  EXPECT_EQ(learning_rate(schedule, 1000, 0.5), 1.0);
  EXPECT_NEAR(learning_rate(schedule, 1000, 0.75), 0.55, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 5, 0.75), 0.275, 1e-12) << "half of the warm-up";
  EXPECT_NEAR(learning_rate(schedule, 1000, 1.5), 0.1, 1e-12);
}

TEST(Schedule, ARisingRateMultipliesByTheSameEachTime) {
  const ScheduleConfig schedule{
      .kind = ScheduleKind::rising, .peak = 1.0, .final = 0.0001, .warmup = 4000, .length = 100};
  EXPECT_NEAR(learning_rate(schedule, 25), 0.001, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 50), 0.01, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 100), 1.0, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 200), 1.0, 1e-12);
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
  refuse({.kind = ScheduleKind::timed_trapezoid, .length = 10});
  refuse({.kind = ScheduleKind::trapezoid, .warmup = 10, .length = 10});
  refuse({.cooldown = 0.0});
  refuse({.cooldown = 1.1});
  refuse({.cooldown = std::nan("")});
  refuse({.kind = ScheduleKind::rising, .final = 0.0, .length = 10});
  refuse({.kind = ScheduleKind::rising, .final = 1e-4, .length = 0});
}

}  // namespace
}  // namespace heed
