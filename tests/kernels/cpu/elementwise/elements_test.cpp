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

HEED_ON_EVERY_INSTRUCTION_SET(CpuElements);

}  // namespace
}  // namespace heed::test
