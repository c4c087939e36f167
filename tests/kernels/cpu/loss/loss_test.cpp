#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuLoss : public CpuTest {};

// Panels of 64 MiB and more are packed and multiplied some columns at a time, unless they are there already.
TEST_P(CpuLoss, ALargeVocabularyGivesTheSameBits) {
  LossCase c = LossCase::make(types(), 9, 2, 17'003);
  constexpr int64_t kDepth = 1'100;  // pairs of bf16 take half the room
  const int64_t depth = GetParam().name.ends_with("_pairs") ? 2 * kDepth : kDepth;
  c.x = random(storage(), 9, depth, 18);
  c.weight = Guarded(storage(), 17'003, depth, kTight);
  for (int64_t r = 0; r < c.weight.rows(); ++r) {
    for (int64_t column = 0; column < depth; ++column) {
      c.weight.set(r, column, 0.0001 * static_cast<double>((r * 31 + column * 7) % 1'009 - 504));
    }
  }
  const auto packed_weight = cpu().pack_matrix(c.weight.view());
  const auto plain = c.forward(cpu(), types());
  c.packed = packed_weight.get();
  const auto packed = c.forward(cpu(), types());
  EXPECT_TRUE(same_bits(plain.losses, packed.losses));
  EXPECT_TRUE(same_bits(plain.d_logits, packed.d_logits));
  EXPECT_TRUE(plain.d_logits.untouched());
}

HEED_ON_EVERY_PRODUCT(CpuLoss);

}  // namespace
}  // namespace heed::test
