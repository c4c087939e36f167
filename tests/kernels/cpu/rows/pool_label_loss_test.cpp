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
  for (const Pooling kind : {Pooling::mean, Pooling::max}) {
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

class CpuLabelLoss : public CpuTest {};

TEST_P(CpuLabelLoss, MatchesTheReference) {
  for (const LabelLossKind kind : {LabelLossKind::sigmoid, LabelLossKind::squared}) {
    for (const int64_t columns : kColumns) {
      const LabelLossCase c = LabelLossCase::make(types(), kind, 7, columns);
      const auto actual = c.run(cpu(), types()), expected = c.run(reference(), kReferenceTypes);
      EXPECT_TRUE(close(actual.losses, expected.losses, kF32)) << columns;
      EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored())) << columns;
    }
  }
}

TEST_P(CpuLabelLoss, OfLargeLogitsIsFinite) {
  LabelLossCase c = LabelLossCase::make(types(), LabelLossKind::sigmoid, 1, 4);
  for (int64_t column = 0; column < 4; ++column) {
    c.logits.set(0, column, column < 2 ? 1000.0 : -1000.0);
    c.targets.set(0, column, column % 2 == 0 ? 1.0 : 0.0);
  }
  const auto found = c.run(cpu(), types());
  EXPECT_EQ(found.losses.get(0, 0), 2000.0);
  EXPECT_EQ(found.d_logits.get(0, 1), 1.0);
  EXPECT_EQ(found.d_logits.get(0, 2), -1.0);
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuLabelLoss);

}  // namespace
}  // namespace heed::test
