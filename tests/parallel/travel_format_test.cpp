#include "parallel/travel_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "kernels/cpu/cpu_backend.h"

namespace heed {
namespace {

class InInt8 : public testing::TestWithParam<int64_t> {
 protected:
  // What `values` are after they have travelled.
  template <class T>
  std::vector<T> traveled(std::vector<T> values) {
    const auto count = static_cast<int64_t>(values.size());
    const TravelFormat format(TravelType::int8, dtype_of<T>);
    std::vector<std::byte> bytes(static_cast<size_t>(format.bytes(count)));
    format.encode(*backend_, View(values.data(), dtype_of<T>, 1, count, count), bytes);
    std::vector<T> scratch(values.size() + 3);
    const auto room = static_cast<int64_t>(scratch.size());
    const View result = format.decode(bytes, count, View(scratch.data(), dtype_of<T>, 1, room, room));
    EXPECT_EQ(result.columns(), count);
    scratch.resize(values.size());
    return scratch;
  }
  template <class T>
  std::vector<T> draws(int64_t count) {
    std::vector<T> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<T>(std::pow(10.0, static_cast<double>(i / 256)) *
                                      (uniform_draw(RandomKey{3}, static_cast<uint64_t>(i)) - 0.5)));
    }
    return values;
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
};
INSTANTIATE_TEST_SUITE_P(Lengths, InInt8, testing::Values(1, 255, 256, 257, 1000));

// Neighbouring blocks differ by a factor of ten.
TEST_P(InInt8, EachBlockIsRoundedByItsOwnScale) {
  const std::vector<float> values = draws<float>(GetParam()), result = traveled(values);
  for (size_t i = 0; i < values.size(); ++i) {
    const double largest = 0.5 * std::pow(10.0, static_cast<double>(i / 256));
    EXPECT_NEAR(result[i], values[i], largest / 127 / 2 * 1.001) << i;
  }
}

TEST_P(InInt8, ValuesInDoubleAreRoundedTheSameWay) {
  const std::vector<float> narrow = traveled(draws<float>(GetParam()));
  const std::vector<double> wide = traveled(draws<double>(GetParam()));
  for (size_t i = 0; i < narrow.size(); ++i) {
    EXPECT_NEAR(wide[i], narrow[i], 1e-5 * std::abs(narrow[i]) + 1e-12);
  }
}

TEST_P(InInt8, TheLargestValueOfABlockAndZerosAreExact) {
  std::vector<float> values(static_cast<size_t>(GetParam()));
  values.back() = -12.5F;
  EXPECT_EQ(traveled(values), values);
  values.back() = 0.0F;
  EXPECT_EQ(traveled(values), values);
}

TEST_P(InInt8, ABlockThatIsNotFiniteArrivesAsNotANumber) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> values(static_cast<size_t>(GetParam()), 1.0F);
    values.back() = bad;
    const std::vector<float> result = traveled(values);
    EXPECT_TRUE(std::isnan(result.back()));
    EXPECT_EQ(std::isnan(result.front()), GetParam() <= 256);
  }
}

TEST_P(InInt8, ABlockThatIsTooSmallForAScaleArrivesAsZeros) {
  std::vector<float> values(static_cast<size_t>(GetParam()));
  values.back() = 1e-38F;
  EXPECT_EQ(traveled(values), std::vector<float>(values.size()));
}

TEST_P(InInt8, ABlockThatIsTooLargeForAScaleArrivesAsNotANumber) {
  std::vector<double> values(static_cast<size_t>(GetParam()), 1.0);
  values.back() = 1e300;
  EXPECT_TRUE(std::isnan(traveled(values).back()));
}

TEST(TravelFormat, EncodedValuesHaveTheStatedNumberOfBytes) {
  EXPECT_EQ(TravelFormat(TravelType::f32, DType::f32).bytes(1000), 4000);
  EXPECT_EQ(TravelFormat(TravelType::bf16, DType::f32).bytes(1000), 2000);
  EXPECT_EQ(TravelFormat(TravelType::int8, DType::f32).bytes(1000), 1000 + 4 * 4);
  EXPECT_EQ(traveling_bytes(TravelType::f32), 4.0);
  EXPECT_EQ(traveling_bytes(TravelType::bf16), 2.0);
  EXPECT_EQ(256.0 * traveling_bytes(TravelType::int8), 260.0);
}

}  // namespace
}  // namespace heed
