#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuSelectRows : public CpuTest {
 protected:
  void expect_same(const SelectRowsCase& c) {
    EXPECT_TRUE(same_bits(c.forward(cpu(), types()), c.forward(reference(), types())));
    for (const Write write : {Write::overwrite, Write::add}) {
      EXPECT_TRUE(close(c.backward(cpu(), types(), write), c.backward(reference(), kReferenceTypes, write), stored()));
    }
  }
};

TEST_P(CpuSelectRows, MatchesTheReference) {
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    expect_same(SelectRowsCase::make(types(), 13, columns));
  }
  for (const int64_t rows : kRows) {
    SCOPED_TRACE(rows);
    expect_same(SelectRowsCase::make(types(), rows, 33));
  }
}

TEST_P(CpuSelectRows, RepeatedRowsAreRoundedOnce) {
  SelectRowsCase c = SelectRowsCase::make(types(), 100, 17);
  c.rows = integers(std::vector<int64_t>(100, 2));
  const Guarded d_x = c.backward(cpu(), types());
  EXPECT_TRUE(close(d_x, c.backward(reference(), kReferenceTypes), stored()));
  EXPECT_EQ(d_x.get(1, 0), 0.0);
}

TEST_P(CpuSelectRows, GradientsAreTheSameBitsOnAnyNumberOfThreads) {
  const SelectRowsCase c = SelectRowsCase::make(types(), 900, 257);
  const Guarded expected = c.backward(*make(1), types(), Write::add);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(c.backward(*make(threads), types(), Write::add), expected));
  }
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuSelectRows);

}  // namespace
}  // namespace heed::test
