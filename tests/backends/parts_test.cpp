// What ranks that hold parts of matrices compute: sums of parts, and the loss over a divided vocabulary.
#include "backends/backend_test.h"

namespace heed::test {
namespace {

class BackendParts : public BackendTest {};

TEST_P(BackendParts, SumsMatchTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : sizes(kRowLengths)) {
      for (const int count : {1, 2, 3, 5}) {
        SCOPED_TRACE(fmt::format("{} parts of {} columns", count, columns));
        std::vector<Guarded> parts;
        std::vector<ConstView> views;
        for (int k = 0; k < count; ++k) {
          parts.push_back(random(storage(), 13, columns, 70 + static_cast<uint64_t>(k), 1.0, {k, 1}));
          views.push_back(parts.back().view());
        }
        for (const Guarded& bias : {Guarded(), random(DType::f32, 1, columns, 69)}) {
          const Guarded y(storage(), 13, columns), expected(DType::f64, 13, columns);
          backend().sum_parts({views, bias.view(), y.view()});
          reference().sum_parts({views, bias.view(), expected.view()});
          EXPECT_TRUE(close(y, expected, stored()));
          const Guarded in_place = clone(parts.back());
          std::vector<ConstView> with_result = views;
          with_result.back() = in_place.view();
          backend().sum_parts({with_result, bias.view(), in_place.view()});
          EXPECT_TRUE(same_bits(in_place, y));
        }
      }
    }
  });
}

// In f32, 1e8 + 1 - 1e8 is 0 in this order, and 1 in another.
TEST_P(BackendParts, AreAddedInTheirOrder) {
  const auto all = [&](double value) {
    Guarded x(DType::f32, 1, 40);
    for (int64_t c = 0; c < 40; ++c) {
      x.set(0, c, value);
    }
    return x;
  };
  const Guarded large = all(1e8), one = all(1.0), negative = all(-1e8), y = all(5.0);
  backend().sum_parts({std::vector<ConstView>{large.view(), one.view(), negative.view()}, {}, y.view()});
  EXPECT_TRUE(same_bits(y, all(0.0)));
  backend().sum_parts({std::vector<ConstView>{large.view(), negative.view(), one.view()}, {}, y.view()});
  EXPECT_TRUE(same_bits(y, all(1.0)));
}

// Columns of a part draw what they draw in the whole.
TEST_P(BackendParts, DropoutOfLaterColumnsIsThatOfTheWhole) {
  const Guarded whole = random(storage(), 9, 80, 8);
  const Guarded part(storage(), 9, 48);
  for (int64_t r = 0; r < 9; ++r) {
    for (int64_t c = 0; c < 48; ++c) {
      part.set(r, c, whole.get(r, 32 + c));
    }
  }
  Dropout dropout = dropout_of(0.4F);
  backend().drop({whole.view(), dropout});
  dropout.first_column = 32;
  const Guarded by_reference = clone(part);
  backend().drop({part.view(), dropout});
  reference().drop({by_reference.view(), dropout});
  for (int64_t r = 0; r < 9; ++r) {
    for (int64_t c = 0; c < 48; ++c) {
      EXPECT_EQ(part.get(r, c), whole.get(r, 32 + c));
    }
  }
  EXPECT_TRUE(close(by_reference, part, stored()));
}

HEED_IN_EACH_SETTING(BackendParts, any_call);

// The loss of all columns of the logits, of which there are parts that begin at `firsts`.
struct DividedLossCase {
  Guarded logits;
  std::vector<int64_t> targets, firsts;
  double cap = 0.0;

  struct Result {
    Guarded losses;
    std::vector<Guarded> sums, d_logits;
  };
  Result run(Backend& backend, Types types) const {
    Result result{Guarded(types.master, logits.rows(), 2), {}, {}};
    std::vector<Guarded> parts, own_targets;
    std::vector<ConstView> sums;
    for (size_t k = 0; k < firsts.size(); ++k) {
      const int64_t end = k + 1 < firsts.size() ? firsts[k + 1] : logits.columns();
      const Guarded part(types.master, logits.rows(), end - firsts[k]);
      std::vector<int64_t> own;
      for (int64_t r = 0; r < part.rows(); ++r) {
        for (int64_t c = 0; c < part.columns(); ++c) {
          part.set(r, c, logits.get(r, firsts[k] + c));
        }
        const int64_t target = targets[static_cast<size_t>(r)];
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
  LossCase::Result of_the_whole(Backend& backend, Types types) const {
    const LossCase c{.x = converted(logits, types.master), .targets = integers(targets)};
    return c.of_logits(backend, types);
  }
};

class BackendDividedLoss : public BackendTest {};

TEST_P(BackendDividedLoss, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t vocabulary : {3, 17, 64, 301, 2600}) {
      for (const double cap : {0.0, 3.0}) {
        SCOPED_TRACE(fmt::format("{} tokens, cap {}", vocabulary, cap));
        const DividedLossCase c{random(DType::f32, 7, vocabulary, 5, cap > 0.0 ? 0.9 : 3.0),
                                {0, 1, vocabulary / 2, vocabulary / 3, vocabulary - 1, vocabulary - 2, 2},
                                {0, vocabulary / 3, 1 + vocabulary / 2},
                                cap};
        const auto actual = c.run(backend(), types()), expected = c.run(reference(), kReferenceTypes);
        EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
        for (size_t k = 0; k < c.firsts.size(); ++k) {
          EXPECT_TRUE(close(actual.sums[k], expected.sums[k], kF32));
          EXPECT_TRUE(close(actual.d_logits[k], expected.d_logits[k], stored()));
        }
      }
    }
  });
}

// The reference's too: it is written from other formulas than its loss over a whole vocabulary.
TEST_P(BackendDividedLoss, IsThatOfTheWhole) {
  const DividedLossCase c{random(DType::f32, 5, 100, 6, 3.0), {3, 99, 50, 49, 0}, {0, 50}};
  const auto whole = c.of_the_whole(backend(), types());
  EXPECT_TRUE(close(c.run(backend(), types()).losses, whole.losses, kF32));
  DividedLossCase one_part = c;
  one_part.firsts = {0};
  EXPECT_TRUE(close(one_part.run(backend(), types()).losses, whole.losses, kF32));
  const auto reference_whole = c.of_the_whole(reference(), kReferenceTypes);
  const auto reference_divided = c.run(reference(), kReferenceTypes);
  EXPECT_TRUE(close(reference_divided.losses, reference_whole.losses, {1e-12, 1e-12}));
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t column = 0; column < 100; ++column) {
      const Guarded& part = reference_divided.d_logits[column < 50 ? 0 : 1];
      EXPECT_NEAR(part.get(r, column % 50), reference_whole.d_logits.get(r, column), 1e-12);
    }
  }
}

TEST_P(BackendDividedLoss, TheGradientMayOverwriteTheLogits) {
  const Guarded logits = random(DType::f32, 4, 33, 7, 2.0), targets = integers({32, -1, 0, 16});
  const Guarded sums(DType::f32, 4, 4), losses(DType::f32, 4, 2), apart(DType::f32, 4, 33), found(DType::f32, 4, 33);
  const Tensor shared = backend().keep({4, 33}, DType::f32);  // of the device, where it is one memory
  backend().copy(logits.view(), shared.view());
  backend().logit_sums({logits.view(), targets.view(), sums.view()});
  const std::vector<ConstView> all{sums.view()};
  for (const View& d_logits : {apart.view(), shared.view()}) {
    backend().divided_loss({.logits = shared.view(),
                            .targets = targets.view(),
                            .sums = all,
                            .vocabulary = 33,
                            .smoothing = 0.1,
                            .losses = losses.view(),
                            .d_logits = d_logits});
  }
  backend().copy(shared.view(), found.view());
  EXPECT_TRUE(same_bits(found, apart));
}

HEED_IN_EACH_SETTING(BackendDividedLoss, any_call);

}  // namespace
}  // namespace heed::test
