#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuAddNorm : public CpuTest {
 protected:
  void expect_forward(const AddNormCase& c) {
    const auto actual = c.forward(cpu(), types());
    EXPECT_TRUE(close(actual.sum, c.forward(reference(), kReferenceTypes).sum, stored()));
    // What is normalized is the sum as it was rounded.
    AddNormCase rounded = c;
    if (!c.branch.empty()) {
      rounded.residual = actual.sum;
      rounded.branch = {};
    }
    const auto expected = rounded.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.normed, expected.normed, stored()));
    EXPECT_TRUE(close(actual.statistics, expected.statistics, kF32));
  }
  void expect_backward(const AddNormCase& c, Write write = Write::overwrite) {
    const auto saved = c.forward(cpu(), types());
    const auto actual = c.backward(cpu(), saved, types(), write);
    const auto expected = c.backward(reference(), saved, kReferenceTypes, write);
    EXPECT_TRUE(close(actual.d_residual, expected.d_residual, stored()));
    EXPECT_TRUE(close(actual.d_branch, expected.d_branch, stored()));
    EXPECT_TRUE(close(actual.d_gain, expected.d_gain, kF32));
    EXPECT_TRUE(close(actual.d_bias, expected.d_bias, kF32));
  }
};

TEST_P(CpuAddNorm, MatchesTheReferenceForAnySize) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    for (const int64_t columns : kColumns) {
      SCOPED_TRACE(fmt::format("kind {}, {} columns", static_cast<int>(kind), columns));
      AddNormCase c = AddNormCase::make(types(), kind, 7, columns);
      c.epsilon = columns < 3 ? 0.1 : 1e-5;  // so that two values close to each other aren't blown up
      expect_forward(c);
      expect_backward(c);
    }
    for (const int64_t rows : kRows) {
      SCOPED_TRACE(fmt::format("kind {}, {} rows", static_cast<int>(kind), rows));
      expect_forward(AddNormCase::make(types(), kind, rows, 33));
      expect_backward(AddNormCase::make(types(), kind, rows, 33));
    }
  }
}

TEST_P(CpuAddNorm, MatchesTheReferenceWithEveryOption) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    for (const Write write : {Write::overwrite, Write::add}) {
      for (const int option : {0, 1, 2, 3, 4, 5}) {
        SCOPED_TRACE(
            fmt::format("kind {}, write {}, option {}", static_cast<int>(kind), static_cast<int>(write), option));
        AddNormCase c = AddNormCase::make(types(), kind, 9, 65);
        if (option == 1) {
          c.dropout = dropout_of(0.25F);
        } else if (option == 2) {
          c.branch = {};
        } else if (option == 3) {
          c.d_sum = {};
        } else if (option == 4) {
          c.d_normed = {};
        } else if (option == 5) {
          c.gain_form = NormGain::plus_one;
        }
        expect_forward(c);
        expect_backward(c, write);
      }
    }
  }
}

TEST_P(CpuAddNorm, EachGroupOfColumnsIsNormalizedOnItsOwn) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    for (const int64_t columns : {3, 16, 24, 64, 65}) {
      for (const int64_t groups : {2, 7}) {
        SCOPED_TRACE(fmt::format("kind {}, {} groups of {} columns", static_cast<int>(kind), groups, columns));
        AddNormCase c = AddNormCase::of_groups(types(), kind, 70, groups, columns);
        c.epsilon = 1e-2;
        expect_forward(c);
        expect_backward(c);
        expect_backward(c, Write::add);
      }
    }
  }
}

TEST_P(CpuAddNorm, ResidualGradientMayOverwriteTheSums) {
  AddNormCase c = AddNormCase::make(types(), NormKind::layer, 9, 65);
  c.dropout = dropout_of(0.25F);
  const auto saved = c.forward(cpu(), types());
  const auto expected = c.backward(cpu(), saved, types());
  const Guarded shared = clone(c.d_sum), d_branch(storage(), 9, 65);
  const Guarded d_gain = clone(c.gain), d_bias = clone(c.bias);
  cpu().add_norm_backward({.kind = c.kind,
                           .sum = saved.sum.view(),
                           .statistics = saved.statistics.view(),
                           .gain = c.gain.view(),
                           .dropout = c.dropout,
                           .d_normed = c.d_normed.view(),
                           .d_sum = shared.view(),
                           .d_residual = shared.view(),
                           .d_branch = d_branch.view(),
                           .d_gain = d_gain.view(),
                           .d_bias = d_bias.view()});
  EXPECT_TRUE(same_bits(shared, expected.d_residual));
  EXPECT_TRUE(same_bits(d_branch, expected.d_branch));
  EXPECT_TRUE(same_bits(d_gain, expected.d_gain));
}

TEST_P(CpuAddNorm, ALargeMeanCostsNoPrecision) {
  if (storage() == DType::bf16) {
    GTEST_SKIP() << "bf16 itself can't hold the deviation next to such a mean";
  }
  AddNormCase c = AddNormCase::make(types(), NormKind::layer, 4, 257);
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t column = 0; column < 257; ++column) {
      c.residual.set(r, column, 4096.0 + c.residual.get(r, column));
    }
  }
  c.branch = {};
  const auto actual = c.forward(cpu(), types()), expected = c.forward(reference(), kReferenceTypes);
  // The mean itself can be off by a few of f32's last places there, which are 5e-4 of a deviation.
  EXPECT_TRUE(close(actual.normed, expected.normed, {1e-2, 1e-2}));
}

TEST_P(CpuAddNorm, ARowIsTheSameBitsAloneAndAmongOthers) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    AddNormCase c = AddNormCase::make(types(), kind, 300, 65);
    c.dropout = dropout_of(0.25F);
    const auto forward = [&](const AddNormCase& part) { return part.forward(cpu(), types()); };
    const auto backward = [&](const AddNormCase& part) { return part.backward(cpu(), forward(part), types()); };
    expect_same_rows(c, 300, [&](const AddNormCase& part) { return forward(part).sum; });
    expect_same_rows(c, 300, [&](const AddNormCase& part) { return forward(part).normed; });
    expect_same_rows(c, 300, [&](const AddNormCase& part) { return forward(part).statistics; });
    expect_same_rows(c, 300, [&](const AddNormCase& part) { return backward(part).d_residual; });
    expect_same_rows(c, 300, [&](const AddNormCase& part) { return backward(part).d_branch; });
  }
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuAddNorm);

}  // namespace
}  // namespace heed::test
