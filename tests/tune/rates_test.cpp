#include "tune/rates.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed {
namespace {

// Losses over rates from 1e-5 to 1, by the logarithm of the rate.
std::vector<RatePoint> points(const std::function<double(double)>& loss) {
  std::vector<RatePoint> made;
  for (int i = 0; i < 120; ++i) {
    const double exponent = -5.0 + 5.0 * i / 119.0;
    made.push_back({std::pow(10.0, exponent), loss(exponent)});
  }
  return made;
}

// Falls most steeply at 1e-3, is lowest at 1e-2, and rises again.
double valley(double exponent) {
  return exponent < -2.0 ? 6.0 - 2.0 * std::tanh(2.0 * (exponent + 3.0)) : 4.1 + 2.0 * (exponent + 2.0);
}

TEST(Rates, ThePeakToTryIsWhereTheLossFallsMostSteeply) {
  const RateRange range = judge_rates(points(valley));
  EXPECT_NEAR(range.suggested, 1e-3, 2e-4);
  EXPECT_NEAR(range.lowest, 1e-2, 3e-3);
  EXPECT_GT(range.highest, range.lowest);
  EXPECT_LT(range.highest, 0.1);
}

TEST(Rates, ALossThatOnlyFallsHasNoHighestRateButTheLast) {
  EXPECT_EQ(judge_rates(points([](double e) { return 3.0 - e; })).highest, 1.0);
}

TEST(Rates, ALossThatHardlyFallsSuggestsNothing) {
  EXPECT_EQ(judge_rates(points([](double e) { return e < -1.0 ? 3.0 - 0.001 * e : 9.0; })).suggested, 0.0);
}

TEST(Rates, WhatComesAfterALossThatIsNotFiniteDoesNotCount) {
  std::vector<RatePoint> all = points(valley);
  const RateRange whole = judge_rates(all);
  all.back().loss = NAN;
  EXPECT_EQ(judge_rates(all).lowest, whole.lowest);
  all.resize(5);
  EXPECT_EQ(judge_rates(all).lowest, 0.0);
  EXPECT_EQ(judge_rates({}).suggested, 0.0);
}

}  // namespace
}  // namespace heed
