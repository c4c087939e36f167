#include "data/batches/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/errors.h"

namespace heed {
namespace {

std::vector<int64_t> all_of(const Permutation& permutation) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < permutation.size(); ++i) {
    values.push_back(permutation(i));
  }
  return values;
}

TEST(Permutations, ContainEveryIndexOnce) {
  std::vector<int64_t> sizes(300);
  std::iota(sizes.begin(), sizes.end(), 1);
  sizes.insert(sizes.end(), {1023, 1024, 1025, 65535, 65536, 65537, 99'991, 1'000'000});
  for (const int64_t size : sizes) {
    std::vector<int64_t> values = all_of(Permutation(RandomKey{5}.derive(static_cast<uint64_t>(size)), size));
    std::ranges::sort(values);
    for (int64_t i = 0; i < size; ++i) {
      ASSERT_EQ(values[static_cast<size_t>(i)], i) << "of " << size;
    }
  }
}

TEST(Permutations, OfHugeSizesStayInRange) {
  for (const int64_t size : {(int64_t{1} << 40) + 12345, int64_t{1} << 62}) {
    const Permutation permutation(RandomKey{1}, size);
    for (int64_t i = 0; i < 1000; ++i) {
      const int64_t value = permutation(size - 1 - i);
      ASSERT_TRUE(value >= 0 && value < size);
    }
  }
  EXPECT_THROW(Permutation(RandomKey{1}, 0), InternalError);
}

// Every index should reach every position equally often: chi-squared over keys stays within 6 deviations of its mean.
TEST(Permutations, MoveEveryIndexEverywhere) {
  for (const int64_t size : {2, 3, 5, 10, 17, 64, 100}) {
    const auto n = static_cast<size_t>(size);
    constexpr int kKeys = 20'000;
    std::vector<int64_t> counts(n * n);
    for (uint64_t k = 0; k < kKeys; ++k) {
      const Permutation permutation(RandomKey{11}.derive(k), size);
      for (size_t i = 0; i < n; ++i) {
        ++counts[i * n + static_cast<size_t>(permutation(static_cast<int64_t>(i)))];
      }
    }
    const double expected = static_cast<double>(kKeys) / static_cast<double>(size);
    double chi = 0.0;
    for (const int64_t count : counts) {
      chi += std::pow(static_cast<double>(count) - expected, 2) / expected;
    }
    const double freedom = std::pow(static_cast<double>(size) - 1.0, 2);
    EXPECT_NEAR(chi, freedom, 6.0 * std::sqrt(2.0 * freedom)) << "of " << size;
  }
}

// Neighbours should not stay neighbours: of a random permutation, about one pair in n/2 does.
TEST(Permutations, SeparateNeighbours) {
  constexpr int64_t kSize = 100'000;
  int64_t neighbours = 0, steps_up = 0;
  for (uint64_t k = 0; k < 10; ++k) {
    const std::vector<int64_t> values = all_of(Permutation(RandomKey{13}.derive(k), kSize));
    for (size_t i = 1; i < values.size(); ++i) {
      neighbours += std::abs(values[i] - values[i - 1]) == 1 ? 1 : 0;
      steps_up += values[i] > values[i - 1] ? 1 : 0;
    }
  }
  EXPECT_LT(neighbours, 60);  // 20 expected
  EXPECT_NEAR(static_cast<double>(steps_up), 500'000.0, 3'000.0);
}

TEST(Permutations, DependOnlyOnTheKey) {
  EXPECT_EQ(all_of(Permutation(RandomKey{1}, 1000)), all_of(Permutation(RandomKey{1}, 1000)));
  EXPECT_NE(all_of(Permutation(RandomKey{1}, 1000)), all_of(Permutation(RandomKey{2}, 1000)));
}

}  // namespace
}  // namespace heed
