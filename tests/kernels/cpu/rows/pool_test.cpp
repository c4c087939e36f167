#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuPool : public CpuTest {
 protected:
  void expect_same(const PoolCase& c) {
    const auto actual = c.forward(cpu(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.y, expected.y, stored()));
    if (c.kind == Pooling::max) {
      EXPECT_TRUE(same_bits(actual.chosen, expected.chosen));
    }
    for (const Write write : {Write::overwrite, Write::add}) {
      EXPECT_TRUE(close(c.backward(cpu(), types(), write), c.backward(reference(), kReferenceTypes, write), stored()));
    }
  }
};

TEST_P(CpuPool, MatchesTheReference) {
  for (const Pooling kind : {Pooling::mean, Pooling::max, Pooling::mean_sqrt_length}) {
    for (const int64_t columns : kColumns) {
      SCOPED_TRACE(fmt::format("{} columns", columns));
      expect_same(PoolCase::make(types(), kind, {3, 1, 7}, columns));
    }
    expect_same(PoolCase::make(types(), kind, {100}, 33));
  }
}

TEST_P(CpuPool, TheFirstOfEqualRowsIsTheMaximum) {
  PoolCase c = PoolCase::make(types(), Pooling::max, {2, 3}, 5);
  for (int64_t r = 0; r < c.x.rows(); ++r) {
    c.x.set(r, 4, -1.0);
  }
  EXPECT_EQ(c.forward(cpu(), types()).chosen.get(1, 4), 2.0);
  expect_same(c);
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuPool);

}  // namespace
}  // namespace heed::test
