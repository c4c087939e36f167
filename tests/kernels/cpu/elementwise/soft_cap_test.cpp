#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuSoftCap : public CpuTest {};

TEST_P(CpuSoftCap, MatchesTheReference) {
  for (const int64_t columns : kColumns) {
    for (const double cap : {0.5, 30.0}) {
      SCOPED_TRACE(fmt::format("{} columns, cap {}", columns, cap));
      const Guarded x = random(storage(), 5, columns, 23, 20.0), d_y = random(storage(), 5, columns, 24);
      const auto run = [&](Backend& backend, DType type) {
        const Guarded y = converted(x, type);
        backend.soft_cap({y.view(), cap});
        return y;
      };
      const Guarded y = run(cpu(), storage());
      EXPECT_TRUE(close(y, run(reference(), DType::f64), stored()));
      const Guarded d_x = clone(d_y), expected = converted(d_y, DType::f64);
      cpu().soft_cap_backward({y.view(), d_x.view(), cap});
      reference().soft_cap_backward({y.view(), expected.view(), cap});
      EXPECT_TRUE(close(d_x, expected, stored()));
    }
  }
}

TEST_P(CpuSoftCap, KeepsWhatIsNotANumber) {
  const Guarded x = random(storage(), 1, 20, 25);
  x.set(0, 3, std::nan(""));
  cpu().soft_cap({x.view(), 30.0});
  EXPECT_TRUE(std::isnan(x.get(0, 3)));
  EXPECT_FALSE(std::isnan(x.get(0, 4)));
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuSoftCap);

}  // namespace
}  // namespace heed::test
