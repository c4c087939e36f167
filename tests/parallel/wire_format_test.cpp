#include "parallel/wire_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "kernels/cpu/cpu_backend.h"

namespace heed {
namespace {

struct Case {
  WireType type;
  int64_t length;  // of the values
};

class WholeNumbers : public testing::TestWithParam<Case> {
 protected:
  int64_t length() const { return GetParam().length; }
  int64_t block() const { return GetParam().type == WireType::int8 ? 256 : 64; }
  double largest() const { return GetParam().type == WireType::int8 ? 127.0 : 7.0; }

  // `values` as a rank decodes what another has encoded.
  template <class T>
  std::vector<T> round_trip(std::vector<T> values) {
    const auto count = static_cast<int64_t>(values.size());
    const WireFormat format(GetParam().type, dtype_of<T>);
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
      values.push_back(static_cast<T>(std::pow(10.0, static_cast<double>(i / block())) *
                                      (uniform_draw(RandomKey{3}, static_cast<uint64_t>(i)) - 0.5)));
    }
    return values;
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int64_t length : {1, 255, 256, 257, 1000}) {
    all.push_back({WireType::int8, length});
  }
  for (const int64_t length : {1, 2, 63, 64, 65, 333}) {
    all.push_back({WireType::int4, length});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Lengths, WholeNumbers, testing::ValuesIn(cases()));

// Neighbouring blocks differ by a factor of ten.
TEST_P(WholeNumbers, EachBlockIsRoundedByItsOwnScale) {
  const std::vector<float> values = draws<float>(length()), result = round_trip(values);
  for (size_t i = 0; i < values.size(); ++i) {
    const double most = 0.5 * std::pow(10.0, static_cast<double>(static_cast<int64_t>(i) / block()));
    EXPECT_NEAR(result[i], values[i], most / largest() / 2 * 1.001) << i;
  }
}

TEST_P(WholeNumbers, ValuesInDoubleAreRoundedTheSameWay) {
  const std::vector<float> narrow = round_trip(draws<float>(length()));
  const std::vector<double> wide = round_trip(draws<double>(length()));
  for (size_t i = 0; i < narrow.size(); ++i) {
    EXPECT_NEAR(wide[i], narrow[i], 1e-5 * std::abs(narrow[i]) + 1e-12);
  }
}

TEST_P(WholeNumbers, TheLargestValueOfABlockAndZerosAreExact) {
  std::vector<float> values(static_cast<size_t>(length()));
  values.back() = -12.5F;
  EXPECT_EQ(round_trip(values), values);
  values.back() = 0.0F;
  EXPECT_EQ(round_trip(values), values);
}

TEST_P(WholeNumbers, AllNumbersArriveWithTheirSigns) {
  std::vector<float> values;
  for (int64_t i = 0; i < length(); ++i) {
    const auto range = static_cast<int64_t>(largest());
    // Each block begins with the largest, so that its scale is 1.
    values.push_back(static_cast<float>(i % block() == 0 ? range : i % (2 * range + 1) - range));
  }
  EXPECT_EQ(round_trip(values), values);
}

TEST_P(WholeNumbers, ABlockThatIsNotFiniteArrivesAsNotANumber) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> values(static_cast<size_t>(length()), 1.0F);
    values.back() = bad;
    const std::vector<float> result = round_trip(values);
    EXPECT_TRUE(std::isnan(result.back()));
    EXPECT_EQ(std::isnan(result.front()), length() <= block());
  }
}

TEST_P(WholeNumbers, ABlockThatIsTooSmallForAScaleArrivesAsZeros) {
  std::vector<float> values(static_cast<size_t>(length()));
  values.back() = 1e-38F;
  EXPECT_EQ(round_trip(values), std::vector<float>(values.size()));
}

TEST_P(WholeNumbers, ABlockThatIsTooLargeForAScaleArrivesAsNotANumber) {
  std::vector<double> values(static_cast<size_t>(length()), 1.0);
  values.back() = 1e300;
  EXPECT_TRUE(std::isnan(round_trip(values).back()));
}

TEST(WireFormat, EncodedValuesHaveTheStatedNumberOfBytes) {
  EXPECT_EQ(WireFormat(WireType::f32, DType::f32).bytes(1000), 4000);
  EXPECT_EQ(WireFormat(WireType::bf16, DType::f32).bytes(1000), 2000);
  EXPECT_EQ(WireFormat(WireType::int8, DType::f32).bytes(1000), 1000 + 4 * 4);
  EXPECT_EQ(WireFormat(WireType::int4, DType::f32).bytes(1001), 501 + 16 * 4);
  EXPECT_EQ(wire_bytes(WireType::f32), 4.0);
  EXPECT_EQ(wire_bytes(WireType::bf16), 2.0);
  EXPECT_EQ(256.0 * wire_bytes(WireType::int8), 260.0);
  EXPECT_EQ(wire_bytes(WireType::int4), 0.5625);
}

}  // namespace
}  // namespace heed
