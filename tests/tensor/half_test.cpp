#include "tensor/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tensor/float16.h"

namespace heed {
namespace {

TEST(Half, EveryNumberIsReadAndWrittenUnchanged) {
  for (uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float x = from_half(half);
    if (std::isfinite(x)) {
      ASSERT_EQ(half_from(x), half) << x;
    }
  }
}

// (-1)^sign 2^(exponent - 15) 1.mantissa, and 2^-14 0.mantissa where the exponent is 0.
TEST(Half, IsReadAsItsFormulaSays) {
  for (uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto exponent = static_cast<int>(bits >> 10U & 31U), mantissa = static_cast<int>(bits & 1023U);
    const float x = from_half(static_cast<uint16_t>(bits));
    if (exponent == 31) {
      EXPECT_TRUE(mantissa == 0 ? std::isinf(x) : std::isnan(x)) << bits;
    } else {
      const auto units = static_cast<float>(exponent == 0 ? mantissa : mantissa + 1024);
      EXPECT_EQ(std::abs(x), std::ldexp(units, std::max(exponent, 1) - 25)) << bits;
    }
    EXPECT_TRUE(std::isnan(x) || std::signbit(x) == (bits >= 0x8000U)) << bits;
  }
}

TEST(Half, KnownNumbersHaveTheirBits) {
  EXPECT_EQ(half_from(1.0F), 0x3c00);
  EXPECT_EQ(half_from(-2.0F), 0xc000);
  EXPECT_EQ(half_from(65504.0F), 0x7bff);
  EXPECT_EQ(half_from(std::ldexp(1.0F, -14)), 0x0400);  // the smallest normal number
  EXPECT_EQ(half_from(std::ldexp(1.0F, -24)), 0x0001);  // the smallest above 0
  EXPECT_EQ(half_from(1.0F / 3.0F), 0x3555);
  EXPECT_TRUE(std::isinf(from_half(0x7c00)));
  EXPECT_TRUE(std::isnan(from_half(0x7e00)));
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  const float last_place = std::ldexp(1.0F, -10);
  EXPECT_EQ(half_from(1.0F + 0.4F * last_place), 0x3c00);
  EXPECT_EQ(half_from(1.0F + 0.5F * last_place), 0x3c00);
  EXPECT_EQ(half_from(1.0F + 1.5F * last_place), 0x3c02);
  EXPECT_EQ(half_from(2.0F - 0.25F * last_place), 0x4000);  // carries into the exponent
  EXPECT_EQ(half_from(std::ldexp(1.0F, -14) * 0.9999F), 0x0400);
  EXPECT_EQ(half_from(std::ldexp(1.0F, -26)), 0x0000);
}

TEST(Half, TheFastConversionGivesTheSameBits) {
  constexpr uint64_t kStride = 9973;  // a prime: all exponents, many significands
  int64_t different = 0, compared = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32U; bits += kStride) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::abs(x) <= kLargestHalf) {
      different += narrowed_half(x) == half_from(x) ? 0 : 1;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100000);
  EXPECT_EQ(different, 0);
  for (const float x :
       {0x1p-14F, 0x1p-15F, 0x1p-24F, 0x1p-25F, 0x1.8p-25F, 0x1.ffep-15F, 0x1.ffffp-15F, 65504.0F, 0.0F}) {
    EXPECT_EQ(narrowed_half(x), half_from(x)) << x;
    EXPECT_EQ(narrowed_half(-x), half_from(-x)) << x;
  }
}

}  // namespace
}  // namespace heed
