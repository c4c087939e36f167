// What ranks that hold parts of matrices compute: sums of parts, and the loss over a divided vocabulary.
#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuParts : public CpuTest {
 protected:
  // The loss of all columns of `logits`, of which there are parts that begin at `firsts`.
  struct Result {
    Guarded losses;
    std::vector<Guarded> sums, d_logits;
  };
  static Result divided_loss(Backend& backend, Types types, const Guarded& logits, const std::vector<int64_t>& targets,
                             const std::vector<int64_t>& firsts, double cap) {
    Result result{Guarded(types.master, logits.rows(), 2), {}, {}};
    std::vector<Guarded> parts, own_targets;
    std::vector<ConstView> sums;
    for (size_t k = 0; k < firsts.size(); ++k) {
      const int64_t end = k + 1 < firsts.size() ? firsts[k + 1] : logits.columns();
      const Guarded part(types.master, logits.rows(), end - firsts[k]);
      for (int64_t r = 0; r < part.rows(); ++r) {
        for (int64_t c = 0; c < part.columns(); ++c) {
          part.set(r, c, logits.get(r, firsts[k] + c));
        }
      }
      std::vector<int64_t> own;
      for (const int64_t target : targets) {
        own.push_back(target >= firsts[k] && target < end ? target - firsts[k] : -1);
      }
      parts.push_back(part);
      own_targets.push_back(integers(own));
      result.sums.emplace_back(types.master, part.rows(), 4);
      backend.logit_sums({part.view(), own_targets.back().view(), result.sums.back().view()});
      sums.push_back(result.sums.back().view());
    }
    for (size_t k = 0; k < parts.size(); ++k) {
      result.d_logits.emplace_back(types.storage, logits.rows(), parts[k].columns());
      backend.divided_loss({.logits = parts[k].view(),
                            .targets = own_targets[k].view(),
                            .sums = sums,
                            .vocabulary = logits.columns(),
                            .smoothing = 0.1,
                            .cap = cap,
                            .losses = result.losses.view(),
                            .d_logits = result.d_logits.back().view()});
    }
    return result;
  }
};

TEST_P(CpuParts, SumsMatchTheReference) {
  for (const int64_t columns : kColumns) {
    const std::vector<Guarded> parts{random(storage(), 13, columns, 1), random(storage(), 13, columns, 2),
                                     random(storage(), 13, columns, 3)};
    const std::vector<ConstView> views{parts[0].view(), parts[1].view(), parts[2].view()};
    for (const Guarded& bias : {Guarded(), random(DType::f32, 1, columns, 4)}) {
      const Guarded y(storage(), 13, columns), expected(DType::f64, 13, columns);
      cpu().sum_parts({views, bias.view(), y.view()});
      reference().sum_parts({views, bias.view(), expected.view()});
      EXPECT_TRUE(close(y, expected, stored()));
      const Guarded in_place = clone(parts[1]);
      cpu().sum_parts({std::vector<ConstView>{views[0], in_place.view(), views[2]}, bias.view(), in_place.view()});
      EXPECT_TRUE(same_bits(in_place, y));
    }
  }
}

// In f32, 1e8 + 1 - 1e8 is 0 in this order, and 1 in another.
TEST_P(CpuParts, AreAddedInTheirOrder) {
  const auto all = [&](double value) {
    Guarded x(DType::f32, 1, 40);
    for (int64_t c = 0; c < 40; ++c) {
      x.set(0, c, value);
    }
    return x;
  };
  const Guarded large = all(1e8), one = all(1.0), negative = all(-1e8), y = all(5.0);
  cpu().sum_parts({std::vector<ConstView>{large.view(), one.view(), negative.view()}, {}, y.view()});
  EXPECT_TRUE(same_bits(y, all(0.0)));
  cpu().sum_parts({std::vector<ConstView>{large.view(), negative.view(), one.view()}, {}, y.view()});
  EXPECT_TRUE(same_bits(y, all(1.0)));
}

TEST_P(CpuParts, TheLossOverADividedVocabularyMatchesTheReference) {
  for (const int64_t vocabulary : {3, 17, 64, 301, 2051}) {
    for (const double cap : {0.0, 3.0}) {
      SCOPED_TRACE(fmt::format("{} tokens, cap {}", vocabulary, cap));
      const Guarded logits = random(DType::f32, 7, vocabulary, 5, cap > 0.0 ? 0.9 : 3.0);
      const std::vector<int64_t> targets{0, 1, vocabulary / 2, vocabulary / 3, vocabulary - 1, vocabulary - 2, 2};
      const std::vector<int64_t> firsts{0, vocabulary / 3, 1 + vocabulary / 2};
      const Result actual = divided_loss(cpu(), types(), logits, targets, firsts, cap);
      const Result expected = divided_loss(reference(), kReferenceTypes, logits, targets, firsts, cap);
      EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
      for (size_t k = 0; k < firsts.size(); ++k) {
        EXPECT_TRUE(close(actual.sums[k], expected.sums[k], kF32));
        EXPECT_TRUE(close(actual.d_logits[k], expected.d_logits[k], stored()));
      }
    }
  }
}

// The reference's too: it is written from other formulas than its loss over a whole vocabulary.
TEST_P(CpuParts, TheLossOverADividedVocabularyIsThatOfTheWhole) {
  const Guarded logits = random(DType::f32, 5, 100, 6, 3.0);
  const std::vector<int64_t> targets{3, 99, 50, 49, 0};
  const auto whole_of = [&](Backend& backend, Types types) {
    const LossCase c{.x = converted(logits, types.master), .targets = integers(targets)};
    return c.of_logits(backend, types);
  };
  const LossCase::Result whole = whole_of(cpu(), types());
  const Result divided = divided_loss(cpu(), types(), logits, targets, {0, 50}, 0.0);
  EXPECT_TRUE(close(divided.losses, whole.losses, kF32));
  const LossCase::Result reference_whole = whole_of(reference(), kReferenceTypes);
  const Result reference_divided = divided_loss(reference(), kReferenceTypes, logits, targets, {0, 50}, 0.0);
  EXPECT_TRUE(close(reference_divided.losses, reference_whole.losses, {1e-12, 1e-12}));
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < 100; ++c) {
      const Guarded& part = reference_divided.d_logits[c < 50 ? 0 : 1];
      EXPECT_NEAR(part.get(r, c % 50), reference_whole.d_logits.get(r, c), 1e-12);
    }
  }
}

TEST_P(CpuParts, TheGradientMayOverwriteTheLogits) {
  const Guarded logits = random(DType::f32, 4, 33, 7, 2.0), targets = integers({32, -1, 0, 16});
  const Guarded sums(DType::f32, 4, 4), losses(DType::f32, 4, 2), apart(DType::f32, 4, 33);
  cpu().logit_sums({logits.view(), targets.view(), sums.view()});
  DividedLoss call{.logits = logits.view(), .targets = targets.view(), .vocabulary = 33, .smoothing = 0.1};
  const std::vector<ConstView> all{sums.view()};
  call.sums = all;
  call.losses = losses.view();
  call.d_logits = apart.view();
  cpu().divided_loss(call);
  call.d_logits = logits.view();
  cpu().divided_loss(call);
  EXPECT_TRUE(same_bits(logits, apart));
}

TEST_P(CpuParts, ATokenOfAnotherPartHasZerosAndNoGradient) {
  EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, 33);
  c.dropout = dropout_of(0.25F);
  const Guarded whole = c.forward(cpu(), types());
  c.tokens.set(0, 4, -1.0);
  const Guarded part = c.forward(cpu(), types());
  EXPECT_TRUE(close(part, c.forward(reference(), kReferenceTypes), stored()));
  for (int64_t column = 0; column < 33; ++column) {
    EXPECT_EQ(part.get(4, column), 0.0);
  }
  EXPECT_TRUE(same_bits(part.rows(5, 8), whole.rows(5, 8)));
  const EmbeddingCase::Result d = c.backward(cpu(), types()), expected = c.backward(reference(), kReferenceTypes);
  EXPECT_TRUE(close(d.d_table, expected.d_table, kF32));
  EXPECT_TRUE(close(d.d_positions, expected.d_positions, kF32));
  EXPECT_TRUE(close(d.d_types, expected.d_types, kF32));
}

// Columns of a part draw what they draw in the whole.
TEST_P(CpuParts, DropoutOfLaterColumnsIsThatOfTheWhole) {
  const Guarded whole = random(storage(), 9, 80, 8);
  Guarded part(storage(), 9, 48);
  for (int64_t r = 0; r < 9; ++r) {
    for (int64_t c = 0; c < 48; ++c) {
      part.set(r, c, whole.get(r, 32 + c));
    }
  }
  Dropout dropout = dropout_of(0.4F);
  cpu().drop({whole.view(), dropout});
  dropout.first_column = 32;
  const Guarded by_reference = clone(part);
  cpu().drop({part.view(), dropout});
  reference().drop({by_reference.view(), dropout});
  for (int64_t r = 0; r < 9; ++r) {
    for (int64_t c = 0; c < 48; ++c) {
      EXPECT_EQ(part.get(r, c), whole.get(r, 32 + c));
    }
  }
  EXPECT_TRUE(close(by_reference, part, stored()));
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuParts);

}  // namespace
}  // namespace heed::test
