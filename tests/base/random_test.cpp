#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace heed {
namespace {

// The values come from random_golden.py. They can't change without changing every training run.
TEST(Random, HasTheGoldenValues) {
  // The first two outputs of splitmix64 from seed 0, as published.
  EXPECT_EQ(mix_bits(0x9e3779b97f4a7c15ULL), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mix_bits(2 * 0x9e3779b97f4a7c15ULL), 0x6e789e6aa1b965f4ULL);

  const RandomKey update = RandomKey{42}.derive(uint64_t{7});
  EXPECT_EQ(update.bits, 0x633239552e00db53ULL);
  const RandomKey path = update.derive("encoder.0");
  EXPECT_EQ(path.bits, 0xc9321fb84516a30bULL);

  const RowRandom row(path, 12345);
  const uint32_t draws[] = {11569, 56827, 8394, 11103, 52479, 47484, 57615, 15415};
  for (uint32_t column = 0; column < 8; ++column) {
    EXPECT_EQ(row.draw16(column), draws[column]);
  }
  EXPECT_EQ(row.draw16(1000001), 36036U);
  EXPECT_EQ(uniform_draw(path, 3), 0.41373747039500575);
}

TEST(Random, KeysWithAnyDifferenceDrawDifferently) {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (uint64_t number = 0; number < 20; ++number) {
      keys.insert(RandomKey{seed}.derive(number).bits);
    }
    for (const char* name : {"", "a", "b", "ab", "ba", "encoder.0", "encoder.1"}) {
      keys.insert(RandomKey{seed}.derive(name).bits);
    }
    keys.insert(RandomKey{seed}.derive(uint64_t{1}).derive(uint64_t{2}).bits);
    keys.insert(RandomKey{seed}.derive(uint64_t{2}).derive(uint64_t{1}).bits);
  }
  EXPECT_EQ(keys.size(), 20U * 29U);
}

// A sum of n terms of variance v is within 5 sqrt(n v) of its mean, except once in two million times.
double five_sigma(double n, double variance) { return 5.0 * std::sqrt(n * variance); }

TEST(Random, Draw16IsUniform) {
  constexpr int kDraws = 1 << 20, kBins = 256, kPerBin = kDraws / kBins;
  std::vector<int> high(kBins), low(kBins);
  double sum = 0.0;
  for (uint64_t r = 0; r < 1024; ++r) {
    const RowRandom row(RandomKey{1}, r);
    for (uint32_t c = 0; c < 1024; ++c) {
      const uint32_t draw = row.draw16(c);
      ASSERT_LT(draw, 65536U);
      ++high[draw >> 8];
      ++low[draw & 255U];
      sum += draw;
    }
  }
  EXPECT_NEAR(sum, kDraws * 32767.5, five_sigma(kDraws, 65536.0 * 65536.0 / 12.0));
  for (const auto& bins : {high, low}) {
    double chi_square = 0.0;
    for (const int count : bins) {
      const double difference = count - kPerBin;
      chi_square += difference * difference / kPerBin;
    }
    // 255 degrees of freedom: mean 255, deviation sqrt(510).
    EXPECT_NEAR(chi_square, 255.0, 5.0 * std::sqrt(510.0));
  }
}

TEST(Random, TheShareOfDrawsBelowAThresholdIsRight) {
  for (const uint32_t threshold : {655U, 6554U, 32768U, 58982U}) {
    const double p = threshold / 65536.0;
    // Over rows with few columns, over few rows with many columns, and in every column on its own.
    for (const auto& [rows, columns] : {std::pair<uint32_t, uint32_t>{65536, 16}, {16, 65536}, {1048576, 1}}) {
      int64_t below = 0;
      for (uint64_t r = 0; r < rows; ++r) {
        const RowRandom row(RandomKey{2}.derive(r % 3), r);
        for (uint32_t c = 0; c < columns; ++c) {
          below += row.draw16(c) < threshold ? 1 : 0;
        }
      }
      const double n = static_cast<double>(rows) * columns;
      EXPECT_NEAR(static_cast<double>(below), n * p, five_sigma(n, p * (1.0 - p)));
    }
  }
}

// How far two streams of draws are from independent: their correlation, in deviations.
template <class First, class Second>
double correlation(First&& first, Second&& second) {
  constexpr int kPairs = 1 << 18;
  double sum = 0.0;
  for (uint32_t i = 0; i < kPairs; ++i) {
    sum += (static_cast<double>(first(i)) - 32767.5) * (static_cast<double>(second(i)) - 32767.5);
  }
  return sum / (65536.0 * 65536.0 / 12.0) / std::sqrt(static_cast<double>(kPairs));
}

TEST(Random, NeighboursAreIndependent) {
  const RandomKey key{3};
  const auto at = [&](RandomKey k, uint64_t row, uint32_t column) { return RowRandom(k, row).draw16(column); };
  for (const uint32_t step : {1U, 2U, 3U, 16U, 64U, 512U}) {
    EXPECT_LT(std::abs(correlation([&](uint32_t i) { return at(key, i, 5); },
                                   [&](uint32_t i) { return at(key, i + step, 5); })),
              5.0)
        << "rows " << step << " apart";
    EXPECT_LT(std::abs(correlation([&](uint32_t i) { return at(key, i >> 10, i & 1023); },
                                   [&](uint32_t i) { return at(key, i >> 10, (i & 1023) + step); })),
              5.0)
        << "columns " << step << " apart";
  }
  EXPECT_LT(std::abs(correlation([&](uint32_t i) { return at(RandomKey{i}, 9, 5); },
                                 [&](uint32_t i) { return at(RandomKey{i + 1}, 9, 5); })),
            5.0);
  EXPECT_LT(std::abs(correlation([&](uint32_t i) { return at(key.derive("a"), i, 5); },
                                 [&](uint32_t i) { return at(key.derive("b"), i, 5); })),
            5.0);
}

TEST(Random, RowsDoNotRepeatEachOthersDraws) {
  // Rows are streams of their own, not one stream from different offsets.
  std::set<uint64_t> seen;
  for (uint64_t r = 0; r < 2000; ++r) {
    const RowRandom row(RandomKey{4}, r);
    for (uint32_t pair = 0; pair < 50; ++pair) {
      seen.insert(static_cast<uint64_t>(row.hash(pair)) << 32 | row.hash(pair + 1));
    }
  }
  EXPECT_EQ(seen.size(), 2000U * 50U);
}

TEST(Random, UniformDrawsCoverTheirRange) {
  constexpr int kDraws = 100000;
  double sum = 0.0, smallest = 1.0, largest = 0.0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double u = uniform_draw(RandomKey{5}, i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    smallest = std::min(smallest, u);
    largest = std::max(largest, u);
  }
  EXPECT_NEAR(sum, 0.5 * kDraws, five_sigma(kDraws, 1.0 / 12.0));
  EXPECT_LT(smallest, 2e-4);
  EXPECT_GT(largest, 1.0 - 2e-4);
}

TEST(Random, NormalDrawsAreStandardNormal) {
  constexpr int kDraws = 200000;
  double moments[5] = {};
  int beyond_two = 0;
  double neighbours = 0.0, previous = 0.0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double x = normal_draw(RandomKey{6}, i);
    ASSERT_TRUE(std::isfinite(x));
    for (int power = 1; power <= 4; ++power) {
      moments[power] += std::pow(x, power);
    }
    beyond_two += std::abs(x) > 2.0 ? 1 : 0;
    neighbours += x * previous;
    previous = x;
  }
  // The variances of x, x^2, x^3, x^4 of a standard normal x are 1, 2, 15, 96.
  EXPECT_NEAR(moments[1], 0.0, five_sigma(kDraws, 1.0));
  EXPECT_NEAR(moments[2], kDraws, five_sigma(kDraws, 2.0));
  EXPECT_NEAR(moments[3], 0.0, five_sigma(kDraws, 15.0));
  EXPECT_NEAR(moments[4], 3.0 * kDraws, five_sigma(kDraws, 96.0));
  const double p = std::erfc(2.0 / std::sqrt(2.0));
  EXPECT_NEAR(beyond_two, kDraws * p, five_sigma(kDraws, p * (1.0 - p)));
  EXPECT_NEAR(neighbours, 0.0, five_sigma(kDraws, 1.0));
}

}  // namespace
}  // namespace heed
