#include "backends/backend_test.h"

namespace heed::test {
namespace {

class BackendAddNorm : public BackendTest {
 protected:
  void expect_forward(const AddNormCase& c) {
    const auto actual = c.forward(backend(), types());
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
    const auto saved = c.forward(backend(), types());
    const auto actual = c.backward(backend(), saved, types(), write);
    const auto expected = c.backward(reference(), saved, kReferenceTypes, write);
    EXPECT_TRUE(close(actual.d_residual, expected.d_residual, stored()));
    EXPECT_TRUE(close(actual.d_branch, expected.d_branch, stored()));
    EXPECT_TRUE(close(actual.d_gain, expected.d_gain, kF32));
    EXPECT_TRUE(close(actual.d_bias, expected.d_bias, kF32));
  }
};

// On GPUs around what one thread, one warp and each team of threads holds of a row.
TEST_P(BackendAddNorm, MatchesTheReferenceForAnySize) {
  with_each_layout([&] {
    for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
      for (const int64_t columns : sizes({.cpu = kColumns, .cuda = {1, 2, 8, 9, 33, 128, 129, 257, 513}})) {
        SCOPED_TRACE(fmt::format("kind {}, {} columns", static_cast<int>(kind), columns));
        AddNormCase c = AddNormCase::make(types(), kind, 7, columns);
        c.epsilon = columns < 3 ? 0.1 : 1e-5;  // so that two values close to each other aren't blown up
        expect_forward(c);
        expect_backward(c);
      }
      for (const int64_t rows : sizes({.cpu = kRows, .cuda = {1, 8, 9, 100}})) {
        SCOPED_TRACE(fmt::format("kind {}, {} rows", static_cast<int>(kind), rows));
        expect_forward(AddNormCase::make(types(), kind, rows, 33));
        expect_backward(AddNormCase::make(types(), kind, rows, 33));
      }
    }
  });
}

TEST_P(BackendAddNorm, MatchesTheReferenceForWideRows) {
  const AlignedOperands aligned;
  for (const int64_t columns : {int64_t{1025}, 1024 * (16 / size_of(storage())) + 9}) {
    SCOPED_TRACE(columns);
    AddNormCase c = AddNormCase::make(types(), NormKind::layer, 3, columns);
    c.dropout = dropout_of(0.25F);
    expect_forward(c);
    expect_backward(c);
  }
}

// More blocks of rows than one pass over their sums takes at once.
TEST_P(BackendAddNorm, MatchesTheReferenceForManyRows) {
  AddNormCase c = AddNormCase::make(types(), NormKind::layer, 4300, 2);
  c.epsilon = 0.1;
  expect_backward(c);
}

TEST_P(BackendAddNorm, MatchesTheReferenceWithEveryOption) {
  with_each_layout([&] {
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
  });
}

TEST_P(BackendAddNorm, EachGroupOfColumnsIsNormalizedOnItsOwn) {
  with_each_layout([&] {
    for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
      for (const int64_t columns : {3, 16, 24, 64, 65}) {
        for (const int64_t groups : sizes({.cpu = {2, 7}, .cuda = {5}})) {
          SCOPED_TRACE(fmt::format("kind {}, {} groups of {} columns", static_cast<int>(kind), groups, columns));
          AddNormCase c = AddNormCase::of_groups(types(), kind, here(70, 7), groups, columns);
          c.epsilon = 1e-2;
          expect_forward(c);
          expect_backward(c);
          expect_backward(c, Write::add);
        }
      }
    }
  });
}

// A sum alone, as where a layer's norm stands elsewhere.
TEST_P(BackendAddNorm, ASumWithoutANormIsTheSum) {
  const AddNormCase c = AddNormCase::make(types(), NormKind::layer, 9, 65);
  const Guarded sum(storage(), 9, 65);
  backend().add_norm({.residual = c.residual.view(), .branch = c.branch.view(), .sum = sum.view()});
  EXPECT_TRUE(same_bits(sum, c.forward(backend(), types()).sum));
}

TEST_P(BackendAddNorm, ResidualGradientMayOverwriteTheSums) {
  AddNormCase c = AddNormCase::make(types(), NormKind::layer, 9, 65);
  c.dropout = dropout_of(0.25F);
  const auto saved = c.forward(backend(), types());
  const auto expected = c.backward(backend(), saved, types());
  const Tensor shared = backend().keep({9, 65}, storage());  // of the device, where it is one memory
  backend().copy(c.d_sum.view(), shared.view());
  const Guarded d_branch(storage(), 9, 65), d_gain = clone(c.gain), d_bias = clone(c.bias), found(storage(), 9, 65);
  backend().add_norm_backward({.kind = c.kind,
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
  backend().copy(shared.view(), found.view());
  EXPECT_TRUE(same_bits(found, expected.d_residual));
  EXPECT_TRUE(same_bits(d_branch, expected.d_branch));
  EXPECT_TRUE(same_bits(d_gain, expected.d_gain));
}

TEST_P(BackendAddNorm, ALargeMeanCostsNoPrecision) {
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
  const auto actual = c.forward(backend(), types()), expected = c.forward(reference(), kReferenceTypes);
  // The mean itself can be off by a few of f32's last places there, which are 5e-4 of a deviation.
  EXPECT_TRUE(close(actual.normed, expected.normed, {1e-2, 1e-2}));
}

TEST_P(BackendAddNorm, ARowIsTheSameBitsAloneAndAmongOthers) {
  const int64_t rows = here(300, 44);
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    AddNormCase c = AddNormCase::make(types(), kind, rows, 65);
    c.dropout = dropout_of(0.25F);
    const auto forward = [&](const AddNormCase& part) { return part.forward(backend(), types()); };
    const auto backward = [&](const AddNormCase& part) { return part.backward(backend(), forward(part), types()); };
    expect_same_rows(c, rows, [&](const AddNormCase& part) { return forward(part).sum; });
    expect_same_rows(c, rows, [&](const AddNormCase& part) { return forward(part).normed; });
    expect_same_rows(c, rows, [&](const AddNormCase& part) { return forward(part).statistics; });
    expect_same_rows(c, rows, [&](const AddNormCase& part) { return backward(part).d_residual; });
    expect_same_rows(c, rows, [&](const AddNormCase& part) { return backward(part).d_branch; });
  }
}

HEED_IN_EACH_SETTING(BackendAddNorm, any_call);

}  // namespace
}  // namespace heed::test
