#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

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
