#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuGate : public CpuTest {
 protected:
  void expect_same(const GateCase& c) {
    EXPECT_TRUE(close(c.forward(cpu(), types()), c.forward(reference(), kReferenceTypes), stored()));
    EXPECT_TRUE(close(c.backward(cpu(), types()), c.backward(reference(), kReferenceTypes), stored()));
  }
};

TEST_P(CpuGate, MatchesTheReference) {
  for (const Activation activation : kActivations) {
    for (const float p : {0.0F, 0.25F}) {
      SCOPED_TRACE(fmt::format("activation {}, dropout {}", static_cast<int>(activation), p));
      GateCase c = GateCase::make(types(), activation, 6, 37);
      c.dropout = dropout_of(p);
      expect_same(c);
    }
  }
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    expect_same(GateCase::make(types(), Activation::silu, 5, columns));
  }
  for (const int64_t rows : kRows) {
    SCOPED_TRACE(rows);
    expect_same(GateCase::make(types(), Activation::gelu_tanh, rows, 33));
  }
}

TEST_P(CpuGate, ARowIsTheSameBitsAloneAndAmongOthers) {
  GateCase c = GateCase::make(types(), Activation::silu, 300, 65);
  c.dropout = dropout_of(0.25F);
  expect_same_rows(c, 300, [&](const GateCase& part) { return part.forward(cpu(), types()); });
  expect_same_rows(c, 300, [&](const GateCase& part) { return part.backward(cpu(), types()); });
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuGate);

}  // namespace
}  // namespace heed::test
