#include <limits>

#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuElements : public CpuTest {};

TEST_P(CpuElements, FillWritesExactlyTheElements) {
  for (const int64_t columns : kColumns) {
    const Guarded x(storage(), 3, columns);
    cpu().fill(x.view(), -1.5);
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        ASSERT_EQ(x.get(r, c), -1.5);
      }
    }
    EXPECT_TRUE(x.untouched());
  }
}

TEST_P(CpuElements, CopyConverts) {
  for (const int64_t columns : kColumns) {
    for (const DType from : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(columns);
      const Guarded x = random(from, 5, columns, 61, 1.0, {1, 1});
      if (columns > 2) {
        x.set(0, 0, std::numeric_limits<double>::infinity());
        x.set(1, 1, 3.3e38);
        x.set(2, 2, -0.0);
        x.set(3, 0, 0x1.01p0);  // half way between two bf16: down to the even one, and up to it
        x.set(4, 0, 0x1.03p0);
      }
      const Guarded y(storage(), 5, columns);
      cpu().copy(x.view(), y.view());
      EXPECT_TRUE(same_bits(y, converted(x, storage())));
      EXPECT_TRUE(y.untouched());
    }
  }
}

TEST_P(CpuElements, CopyKeepsNaN) {
  for (const DType from : {DType::f32, DType::bf16}) {
    const Guarded x(from, 2, 33), y(storage(), 2, 33);  // all 0xff: NaN
    cpu().fill(y.view(), 0.0);
    cpu().copy(x.view(), y.view());
    EXPECT_TRUE(std::isnan(y.get(0, 0)) && std::isnan(y.get(1, 32)));
  }
}

TEST_P(CpuElements, AddAddsInPlace) {
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    const Guarded x = random(storage(), 5, columns, 62), start = random(storage(), 5, columns, 63, 1.0, {0, 2});
    const Guarded actual = clone(start), expected = converted(start, DType::f64);
    cpu().add(x.view(), actual.view());
    reference().add(x.view(), expected.view());
    EXPECT_TRUE(close(actual, expected, stored()));
  }
}

TEST_P(CpuElements, ScaleScalesInPlace) {
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    const Guarded start = random(storage(), 5, columns, 66);
    const Guarded actual = clone(start), expected = converted(start, DType::f64);
    cpu().scale(actual.view(), -0.3);
    reference().scale(expected.view(), -0.3);
    EXPECT_TRUE(close(actual, expected, stored()));
  }
}

TEST_P(CpuElements, BlendMovesTowardsTheOther) {
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    const Guarded from = random(types().master, 1, columns, 67), start = random(types().master, 1, columns, 68);
    const Guarded actual = clone(start), expected = converted(start, DType::f64);
    cpu().blend(from.view(), actual.view(), 0.25);
    reference().blend(from.view(), expected.view(), 0.25);
    EXPECT_TRUE(close(actual, expected, kF32));
    EXPECT_NEAR(actual.get(0, 0), 0.75 * start.get(0, 0) + 0.25 * from.get(0, 0), 1e-6);
  }
}

TEST_P(CpuElements, SquaredNormsOfRangesMatchTheReference) {
  for (const int64_t n : {1, 15, 16, 17, 257, 100003}) {
    SCOPED_TRACE(n);
    const Guarded x = random(DType::f32, 1, n, 49, 3.0);
    const std::vector<ElementRange> ranges{{0, n}, {n / 2, n - n / 2}, {n - 1, 1}};
    const Guarded actual(DType::f64, 1, 3), expected(DType::f64, 1, 3);
    cpu().squared_norms(x.view(), ranges, actual.view());
    reference().squared_norms(x.view(), ranges, expected.view());
    EXPECT_TRUE(close(actual, expected, {1e-6, 0.0}));
    const Guarded alone(DType::f64, 1, 1);
    cpu().squared_norms(x.view(), std::span(ranges).subspan(1, 1), alone.view());
    EXPECT_EQ(alone.get(0, 0), actual.get(0, 1)) << "other ranges change nothing";
  }
  const Guarded x = random(DType::f32, 1, 100, 49), result(DType::f64, 1, 1);
  const std::vector<ElementRange> all{{0, 100}};
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    x.set(0, 63, static_cast<double>(bad));
    cpu().squared_norms(x.view(), all, result.view());
    EXPECT_FALSE(std::isfinite(result.get(0, 0)));
  }
  x.set(0, 63, 3e38);  // whose square is beyond f32
  cpu().squared_norms(x.view(), all, result.view());
  EXPECT_NEAR(result.get(0, 0) / 9e76, 1.0, 1e-6);
}

TEST_P(CpuElements, SumsInOrder) {
  const Guarded x = random(DType::f64, 1, 1001, 49, 1e8), actual(DType::f64, 1, 1), expected(DType::f64, 1, 1);
  cpu().sum(x.view(), actual.view());
  reference().sum(x.view(), expected.view());
  EXPECT_TRUE(same_bits(actual, expected));
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuElements);

}  // namespace
}  // namespace heed::test
