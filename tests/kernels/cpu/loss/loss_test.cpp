#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuLoss : public CpuTest {
 protected:
  void expect_same(const LossCase& c) {
    const auto actual = c.forward(cpu(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
    EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored()));
  }
  void expect_same_of_logits(const LossCase& c) {
    const auto actual = c.of_logits(cpu(), types()), expected = c.of_logits(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
    EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored()));
    EXPECT_TRUE(close(c.log_probs(cpu(), types()), c.log_probs(reference(), kReferenceTypes), kF32));
  }
  LossCase make_case(int64_t rows, int64_t in, int64_t vocabulary) {
    return LossCase::make(types(), rows, in, vocabulary);
  }
};

TEST_P(CpuLoss, MatchesTheReference) {
  for (const int64_t vocabulary : {2, 15, 16, 17, 31, 32, 33, 64, 65, 100, 257, 1000, 2051}) {
    SCOPED_TRACE(vocabulary);
    expect_same(make_case(6, 33, vocabulary));
    LossCase logits = make_case(6, 1, vocabulary);
    logits.x = random(storage(), 6, vocabulary, 47, 3.0);
    expect_same_of_logits(logits);
  }
  for (const int64_t rows : kRows) {
    SCOPED_TRACE(rows);
    expect_same(make_case(rows, 20, 70));
  }
  for (const int64_t depth : kDepths) {
    SCOPED_TRACE(depth);
    expect_same(make_case(5, depth, 70));
  }
}

TEST_P(CpuLoss, MatchesTheReferenceWithEveryOption) {
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    LossCase c = make_case(9, 33, 300);
    c.smoothing = smoothing;
    expect_same(c);
    c.bias = {};
    expect_same(c);
  }
  LossCase ignored = make_case(9, 33, 300);
  ignored.targets = integers(std::vector<int64_t>(9, -1));
  expect_same(ignored);
  EXPECT_EQ(ignored.forward(cpu(), types()).losses.get(4, 0), 0.0);
}

TEST_P(CpuLoss, OfCappedLogitsMatchesTheReference) {
  for (const double cap : {0.5, 3.0, 50.0}) {
    for (const int64_t vocabulary : {2, 17, 300, 1000}) {
      SCOPED_TRACE(fmt::format("cap {}, vocabulary {}", cap, vocabulary));
      LossCase c = make_case(9, 33, vocabulary);
      c.cap = cap;
      expect_same(c);
    }
  }
  LossCase c = make_case(300, 33, 300);
  c.cap = 3.0;
  expect_same_rows(c, 300, [&](const LossCase& part) { return part.forward(cpu(), types()).losses; });
  expect_same_rows(c, 300, [&](const LossCase& part) { return part.forward(cpu(), types()).d_logits; });
}

// A run that diverges must be noticed.
TEST_P(CpuLoss, OfCappedLogitsThatAreNotNumbersIsNotANumber) {
  LossCase c = make_case(4, 33, 300);
  c.cap = 30.0;
  c.x.set(1, 5, std::nan(""));
  EXPECT_TRUE(std::isnan(c.forward(cpu(), types()).losses.get(1, 0)));
}

TEST_P(CpuLoss, WithoutGradientsTheLossIsTheSameBits) {
  const LossCase c = make_case(70, 33, 1000);
  const auto with = c.forward(cpu(), types());
  const Guarded losses(DType::f32, 70, 2);
  cpu().output_loss({.x = c.x.view(),
                     .weight = {c.weight.view()},
                     .bias = c.bias.view(),
                     .targets = c.targets.view(),
                     .smoothing = c.smoothing,
                     .losses = losses.view()});
  EXPECT_TRUE(same_bits(losses, with.losses));
  EXPECT_TRUE(losses.untouched());
}

TEST_P(CpuLoss, LossOfLogitsFarApartIsFinite) {
  LossCase c = make_case(9, 33, 300);
  for (int64_t r = 0; r < 9; ++r) {
    for (int64_t column = 0; column < 33; ++column) {
      c.x.set(r, column, 200.0 * c.x.get(r, column));
    }
  }
  expect_same(c);
  LossCase logits = c;
  logits.x = random(storage(), 9, 300, 47, 500.0);
  expect_same_of_logits(logits);
}

TEST_P(CpuLoss, ARowIsTheSameBitsAloneAndAmongOthers) {
  for (const auto& [in, vocabulary] : std::vector<std::pair<int64_t, int64_t>>{{33, 300}, {600, 1000}}) {
    const LossCase c = make_case(300, in, vocabulary);
    expect_same_rows(c, 300, [&](const LossCase& part) { return part.forward(cpu(), types()).losses; });
    expect_same_rows(c, 300, [&](const LossCase& part) { return part.forward(cpu(), types()).d_logits; });
    LossCase logits = c;
    logits.x = random(storage(), 300, vocabulary, 48, 3.0);
    expect_same_rows(logits, 300, [&](const LossCase& part) { return part.of_logits(cpu(), types()).losses; });
    expect_same_rows(logits, 300, [&](const LossCase& part) { return part.of_logits(cpu(), types()).d_logits; });
    expect_same_rows(logits, 300, [&](const LossCase& part) { return part.log_probs(cpu(), types()); });
  }
}

TEST_P(CpuLoss, APackedWeightGivesTheSameBits) {
  const LossCase plain = make_case(13, 600, 1000);
  const auto packed_weight = cpu().pack_matrix(plain.weight.view());
  LossCase packed = plain;
  packed.packed = packed_weight.get();
  for (const int64_t rows : {1, 13}) {
    const auto a = packed.rows(0, rows).forward(cpu(), types()), b = plain.rows(0, rows).forward(cpu(), types());
    EXPECT_TRUE(same_bits(a.losses, b.losses));
    EXPECT_TRUE(same_bits(a.d_logits, b.d_logits));
  }
}

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
