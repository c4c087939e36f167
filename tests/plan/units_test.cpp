#include "plan/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"

namespace heed {
namespace {

using testing::HasSubstr;

TEST(Units, BandwidthsAreBitsOrBytesASecond) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("1Gbit", "x"), 125e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("100Mbit/s", "x"), 12.5e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("2.5Gbps", "x"), 312.5e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("8kbit", "x"), 1e3);
  EXPECT_DOUBLE_EQ(parse_bandwidth("12GB", "x"), 12e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("3MB/s", "x"), 3e6);
}

TEST(Units, LatenciesMayBeZero) {
  EXPECT_DOUBLE_EQ(parse_latency("50us", "x"), 50e-6);
  EXPECT_DOUBLE_EQ(parse_latency("1.5ms", "x"), 1.5e-3);
  EXPECT_DOUBLE_EQ(parse_latency("800ns", "x"), 800e-9);
  EXPECT_DOUBLE_EQ(parse_latency("2s", "x"), 2.0);
  EXPECT_EQ(parse_latency("0", "x"), 0.0);
  EXPECT_EQ(parse_latency("0us", "x"), 0.0);
}

TEST(Units, SizesAreDecimalOrBinaryAndRatesMayHaveNoUnit) {
  EXPECT_EQ(parse_size("16GB", "x"), 16e9);
  EXPECT_EQ(parse_size("16GiB", "x"), 16.0 * (1 << 30));
  EXPECT_EQ(parse_size("512MB", "x"), 512e6);
  EXPECT_EQ(parse_rate("1.5T", "x"), 1.5e12);
  EXPECT_EQ(parse_rate("5e11", "x"), 5e11);
}

TEST(Units, WhatIsNotAPositiveNumberWithAKnownUnitIsRefused) {
  for (const char* text : {"", "Gbit", "1", "1GBit", "1 Gbit", "-1Gbit", "0Gbit", "nanGbit", "infGbit", "1e400Gbit",
                           "1us", "1Gbit/m", "1e308TB", "0x1Gbit"}) {
    EXPECT_THROW(parse_bandwidth(text, "--bandwidth"), ConfigError) << text;
  }
  for (const char* text : {"", "us", "1", "-1us", "1min", "1Gbit", "nans"}) {
    EXPECT_THROW(parse_latency(text, "--latency"), ConfigError) << text;
  }
  for (const char* text : {"", "16", "0GB", "-1GB", "16Gbit", "16G"}) {
    EXPECT_THROW(parse_size(text, "--memory"), ConfigError) << text;
  }
  for (const char* text : {"", "0", "-1T", "1X", "T"}) {
    EXPECT_THROW(parse_rate(text, "--flops-per-second"), ConfigError) << text;
  }
  try {
    parse_bandwidth("fast", "--bandwidth");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--bandwidth: 'fast' is not a number with a unit, such as 1Gbit"));
  }
}

TEST(Units, WordsHaveThreeDigits) {
  EXPECT_EQ(describe_bandwidth(125e6), "1 Gbit/s");
  EXPECT_EQ(describe_bandwidth(12.5e6), "100 Mbit/s");
  EXPECT_EQ(describe_bandwidth(1e3), "8 kbit/s");
  EXPECT_EQ(describe_latency(50e-6), "50 us");
  EXPECT_EQ(describe_latency(2e-3), "2 ms");
  EXPECT_EQ(describe_rate(1.5e12), "1.5 TFLOP/s");
  EXPECT_EQ(describe_rate(285e9), "285 GFLOP/s");
  EXPECT_EQ(describe_rate(1e6), "0.001 GFLOP/s");
}

}  // namespace
}  // namespace heed
