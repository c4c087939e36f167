#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/random.h"

namespace heed {
namespace {

TEST(Shape, CountsItsElements) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.elements(), 24);
  EXPECT_EQ(shape.rows(), 6);
  EXPECT_EQ(shape.columns(), 4);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(shape.text(), "[2, 3, 4]");
  EXPECT_EQ(shape, (Shape{2, 3, 4}));
  EXPECT_NE(shape, (Shape{2, 3, 4, 1}));
  EXPECT_NE(shape, (Shape{2, 4, 3}));
}

TEST(Shape, AVectorIsOneRowAndNothingIsOneElement) {
  EXPECT_EQ(Shape{7}.rows(), 1);
  EXPECT_EQ(Shape{7}.columns(), 7);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape().columns(), 1);
  EXPECT_EQ(Shape().text(), "[]");
  EXPECT_EQ((Shape{0, 7}).elements(), 0);
  EXPECT_EQ((Shape{0, 7}).columns(), 7);
}

TEST(Shape, RefusesImpossibleExtents) {
  EXPECT_THROW((Shape{1, 2, 3, 4, 5}), InternalError);
  EXPECT_THROW((Shape{2, -1}), InternalError);
  EXPECT_THROW((Shape{int64_t{1} << 40, int64_t{1} << 40}).elements(), ConfigError);
}

TEST(View, TakesRowsAndColumns) {
  float numbers[6 * 8];
  for (int i = 0; i < 48; ++i) {
    numbers[i] = static_cast<float>(i);
  }
  const View view(numbers, DType::f32, 6, 7, 8);
  EXPECT_EQ(view.text(), "f32[6, 7]");
  EXPECT_EQ(fmt::format("{} of {}", view, Shape({6, 7})), "f32[6, 7] of [6, 7]");
  EXPECT_EQ(view.elements(), 42);
  EXPECT_FALSE(view.contiguous());
  const View part = view.row_range(2, 3).column_range(4, 2);
  EXPECT_EQ(part.rows(), 3);
  EXPECT_EQ(part.columns(), 2);
  EXPECT_EQ(part.stride(), 8);
  EXPECT_EQ(host<float>(part)(0, 0), 20.0F);
  EXPECT_EQ(host<float>(part).row(2)[1], 37.0F);
  EXPECT_TRUE(view.row_range(5, 1).contiguous());
  EXPECT_EQ(view.row_range(6, 0).rows(), 0);
}

TEST(View, RefusesRangesBeyondItsEnd) {
  float numbers[4] = {};
  const View view(numbers, DType::f32, 2, 2, 2);
  EXPECT_THROW(view.row_range(1, 2), InternalError);
  EXPECT_THROW(view.row_range(-1, 1), InternalError);
  EXPECT_THROW(view.row_range(0, -1), InternalError);
  EXPECT_THROW(view.column_range(1, 2), InternalError);
  EXPECT_THROW(view.column_range(-1, 1), InternalError);
}

TEST(View, GivesItsElementsOnlyAsTheRightTypeOnTheRightDevice) {
  float numbers[4] = {1, 2, 3, 4};
  const View view(numbers, DType::f32, 2, 2, 2);
  EXPECT_EQ(host<float>(view)(1, 1), 4.0F);
  EXPECT_EQ(host_address(view), numbers);
  EXPECT_THROW(host<double>(view), InternalError);
  EXPECT_THROW(host<bf16>(view), InternalError);
  const View elsewhere(numbers, DType::f32, 2, 2, 2, Device::cuda);
  EXPECT_THROW(host<float>(elsewhere), InternalError);
  EXPECT_THROW(host_address(elsewhere), InternalError);
  EXPECT_TRUE(View().empty());
}

TEST(Tensor, WithItsOwnMemoryIsZerosAndAligned) {
  Tensor tensor({3, 5}, DType::bf16);
  EXPECT_EQ(tensor.bytes(), 30);
  EXPECT_EQ(tensor.view().text(), "bf16[3, 5]");
  EXPECT_TRUE(tensor.view().contiguous());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data<bf16>()) % 64, 0U);
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(tensor.data<bf16>()[i].bits, 0);
  }
  EXPECT_THROW(tensor.data<float>(), InternalError);
}

TEST(Tensor, MovesItsMemoryAndIsEmptyAfterwards) {
  Tensor a({4}, DType::f32);
  a.data<float>()[3] = 2.5F;
  const float* const address = a.data<float>();
  const Tensor b = std::move(a);
  EXPECT_EQ(b.data<float>(), address);
  EXPECT_EQ(b.data<float>()[3], 2.5F);
  EXPECT_TRUE(Tensor().empty());
  EXPECT_TRUE(Tensor().view().empty());
}

TEST(Tensor, WithoutElementsStillHasAnAddress) {
  Arena arena;
  for (const Tensor& tensor : {Tensor({0, 5}, DType::f32), Tensor({0, 5}, DType::f32, arena)}) {
    EXPECT_FALSE(tensor.empty());
    EXPECT_FALSE(tensor.view().empty());
    EXPECT_EQ(tensor.view().rows(), 0);
    EXPECT_EQ(tensor.bytes(), 0);
  }
}

TEST(Tensor, OfAnArenaReturnsItsBlock) {
  Arena arena;
  {
    const Tensor tensor({100, 10}, DType::f32, arena);
    EXPECT_EQ(arena.bytes_in_use(), 4032);  // 4000, in cache lines
    EXPECT_EQ(tensor.view().elements(), 1000);
  }
  EXPECT_EQ(arena.bytes_in_use(), 0);
}

TEST(DType, HasASizeAndAName) {
  EXPECT_EQ(size_of(DType::f64), 8);
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::i32), 4);
  EXPECT_EQ(size_of(DType::i8), 1);
  EXPECT_EQ(name_of(DType::bf16), "bf16");
  EXPECT_EQ(name_of(DType::f64), "f64");
  static_assert(dtype_of<int8_t> == DType::i8 && sizeof(bf16) == 2);
}

float as_float(uint16_t bits) {
  bf16 value;
  value.bits = bits;
  return static_cast<float>(value);
}

TEST(TensorMemory, DiscardedElementsAreZerosAndTheOthersStay) {
  for (const int64_t elements : {100L, 3'000'000L}) {
    Tensor tensor({elements}, DType::f32);
    float* const values = tensor.data<float>();
    EXPECT_EQ(std::count(values, values + elements, 0.0F), elements);
    std::fill_n(values, elements, 1.0F);
    const int64_t first = elements / 3 + 1, count = elements / 2;
    tensor.discard(first, count);
    EXPECT_EQ(std::count(values, values + first, 1.0F), first);
    EXPECT_EQ(std::count(values + first, values + first + count, 0.0F), count);
    EXPECT_EQ(std::count(values + first + count, values + elements, 1.0F), elements - first - count);
    values[first] = 2.0F;
    EXPECT_EQ(values[first], 2.0F);
  }
}

TEST(Bf16, EveryValueSurvivesTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = as_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(bf16(value))));
      EXPECT_EQ(bf16(value).bits, bits | 0x40U);
    } else {
      EXPECT_EQ(bf16(value).bits, bits);
    }
  }
}

// Nearest by distance, in double; of two that are equally near, the one whose last bit is zero.
uint16_t nearest_bf16(float value) {
  const uint16_t below = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);  // toward zero
  const uint16_t above = static_cast<uint16_t>(below + 1);
  const auto exact = [](uint16_t bits) {
    // Past the largest value the next step would be 2^128.
    const bool beyond = (bits & 0x7fffU) == 0x7f80U;
    return beyond ? std::copysign(0x1p128, static_cast<double>(as_float(bits))) : static_cast<double>(as_float(bits));
  };
  const double to_below = std::abs(static_cast<double>(value) - exact(below));
  const double to_above = std::abs(static_cast<double>(value) - exact(above));
  if (to_below == to_above) {
    return (below & 1U) == 0 ? below : above;
  }
  return to_below < to_above ? below : above;
}

TEST(Bf16, RoundsToNearestTiesToEven) {
  // All halves of a float's lower bits that matter, above many upper halves of both signs.
  const uint32_t lower[] = {0x0000, 0x0001, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
  for (uint32_t upper = 0; upper < 65536; ++upper) {
    if ((upper & 0x7f80U) == 0x7f80U) {
      continue;  // infinities and NaN: below
    }
    for (const uint32_t low : lower) {
      const float value = std::bit_cast<float>(upper << 16 | low);
      ASSERT_EQ(bf16(value).bits, nearest_bf16(value)) << value;
    }
  }
  for (uint64_t i = 0; i < 1000000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(mix_bits(i)));
    if (std::isfinite(value)) {
      ASSERT_EQ(bf16(value).bits, nearest_bf16(value)) << value;
    }
  }
}

TEST(Bf16, InfinitiesAndNaNStayWhatTheyAre) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bf16(infinity).bits, 0x7f80);
  EXPECT_EQ(bf16(-infinity).bits, 0xff80);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(bf16(-0.0F).bits, 0x8000);
  // The payloads that rounding would carry into infinity, or away into zero.
  for (const uint32_t bits : {0x7f800001U, 0x7fffffffU, 0xffffffffU, 0x7fff8000U, 0xff800001U}) {
    const bf16 rounded(std::bit_cast<float>(bits));
    EXPECT_TRUE(std::isnan(static_cast<float>(rounded)));
    EXPECT_EQ(rounded.bits & 0x8040U, (bits >> 16 & 0x8000U) | 0x40U);
  }
}

}  // namespace
}  // namespace heed
