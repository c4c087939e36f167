#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuDropout : public CpuTest {};

TEST_P(CpuDropout, DropsExactlyTheValuesThatTheCounterSelects) {
  // So many values that some of their draws are the threshold itself, and its neighbours.
  const int64_t rows = 700, columns = 1001;
  const Dropout dropout = dropout_of(0.3F);
  const Guarded ones(storage(), rows, columns), factors(storage(), rows, columns);
  cpu().fill(ones.view(), 1.0);
  cpu().activation_backward(
      {.activation = Activation::none, .dropout = dropout, .d_y = ones.view(), .d_before = factors.view()});
  int64_t wrong = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const RowRandom row = dropout.row(r);
    for (int64_t c = 0; c < columns; ++c) {
      const bool kept = row.draw16(static_cast<uint32_t>(c)) >= dropout.threshold;
      wrong += kept == (factors.get(r, c) != 0.0) ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(CpuDropout, AloneInPlaceDropsWhatOtherOpsDrop) {
  const Dropout dropout = dropout_of(0.3F);
  const Guarded x = random(storage(), 9, 65, 22), factors(storage(), 9, 65);
  const Guarded y = clone(x);
  cpu().drop({y.view(), dropout});
  cpu().activation_backward(
      {.activation = Activation::none, .dropout = dropout, .d_y = x.view(), .d_before = factors.view()});
  EXPECT_TRUE(same_bits(y, factors));
  EXPECT_TRUE(y.untouched());
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuDropout);

}  // namespace
}  // namespace heed::test
