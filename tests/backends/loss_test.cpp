#include "backends/backend_test.h"

namespace heed::test {
namespace {

class BackendLoss : public BackendTest {
 protected:
  LossCase make_case(int64_t rows, int64_t vocabulary, double scale = 3.0) {
    LossCase c = LossCase::make(types(), rows, 1, vocabulary);
    c.x = random(storage(), rows, vocabulary, 47, scale);
    return c;
  }
  void expect_same(const LossCase& c) {
    const auto actual = c.of_logits(backend(), types()), expected = c.of_logits(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
    EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored()));
  }
};

TEST_P(BackendLoss, OfLogitsMatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t vocabulary : sizes({.cpu = {2, 15, 16, 17, 31, 32, 33, 64, 65, 100, 257, 1000, 2051},
                                    .cuda = {2, 3, 8, 9, 31, 32, 33, 257, 1000, 1025, 2051, 16390}})) {
      SCOPED_TRACE(vocabulary);
      expect_same(make_case(6, vocabulary));
    }
    for (const int64_t rows : sizes({.cpu = kRows, .cuda = {1, 8, 9, 100}})) {
      SCOPED_TRACE(rows);
      expect_same(make_case(rows, 70));
    }
    expect_same(make_case(9, 300, 500.0));  // far apart
  });
}

TEST_P(BackendLoss, OfATeacherMatchesTheReference) {
  const auto expect_same_lesson = [&](const LossCase& c, double scale, double temperature, double weight) {
    const Guarded teacher = random(types().master, c.x.rows(), c.x.columns(), 48, scale);
    const auto actual = c.of_teacher(backend(), types(), teacher, temperature, weight),
               expected = c.of_teacher(reference(), kReferenceTypes, teacher, temperature, weight);
    EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
    EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored()));
  };
  const auto in_master = [&](int64_t rows, int64_t vocabulary, double scale) {
    LossCase c = make_case(rows, vocabulary);
    c.x = random(types().master, rows, vocabulary, 47, scale);
    return c;
  };
  with_each_layout([&] {
    for (const int64_t vocabulary : {2, 15, 16, 17, 33, 65, 300, 1025}) {
      SCOPED_TRACE(vocabulary);
      expect_same_lesson(in_master(6, vocabulary, 3.0), 4.0, 1.0, 0.5);
    }
    for (const int64_t rows : {1, 9, 100}) {
      expect_same_lesson(in_master(rows, 70, 3.0), 4.0, 2.0, 0.7);
    }
    expect_same_lesson(in_master(9, 300, 50.0), 50.0, 3.0, 1.0);
    LossCase capped = in_master(9, 300, 3.0);
    capped.cap = 30.0;
    capped.smoothing = 0.0;
    expect_same_lesson(capped, 3.0, 0.5, 0.0);
    expect_same_lesson(capped, 3.0, 4.0, 0.9);
  });
}

TEST_P(BackendLoss, OfLogitsMatchesTheReferenceWithEveryOption) {
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    LossCase c = make_case(9, 300);
    c.smoothing = smoothing;
    expect_same(c);
  }
  LossCase ignored = make_case(9, 1300);
  ignored.targets = integers(std::vector<int64_t>(9, -1));
  expect_same(ignored);
  EXPECT_EQ(ignored.of_logits(backend(), types()).losses.get(4, 0), 0.0);
}

// A run that diverges must be noticed.
TEST_P(BackendLoss, OfLogitsThatAreNotNumbersIsNotANumber) {
  for (const int64_t vocabulary : {70, 1300}) {
    LossCase c = make_case(4, vocabulary);
    c.x.set(1, 5, std::nan(""));
    const Guarded losses = c.of_logits(backend(), types()).losses;
    EXPECT_TRUE(std::isnan(losses.get(1, 0)));
    EXPECT_FALSE(std::isnan(losses.get(0, 0)));
  }
}

TEST_P(BackendLoss, ARowOfLogitsGivesTheSameBitsAloneAndAmongOthers) {
  const int64_t rows = here(300, 44);
  for (const int64_t vocabulary : {300, 1300}) {
    const LossCase c = make_case(rows, vocabulary);
    expect_same_rows(c, rows, [&](const LossCase& part) { return part.of_logits(backend(), types()).losses; });
    expect_same_rows(c, rows, [&](const LossCase& part) { return part.of_logits(backend(), types()).d_logits; });
  }
}

HEED_IN_EACH_SETTING(BackendLoss, products);

class BackendOutputLoss : public BackendTest {
 protected:
  LossCase make_case(int64_t rows, int64_t in, int64_t vocabulary) {
    return LossCase::make(types(), rows, in, vocabulary);
  }
  void expect_same(const LossCase& c) {
    const auto actual = c.forward(backend(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
    EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored()));
  }
};

TEST_P(BackendOutputLoss, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t vocabulary :
         sizes({.cpu = {2, 15, 16, 17, 31, 32, 33, 64, 65, 100, 257, 1000, 2051}, .cuda = {2, 17, 33, 257, 1030}})) {
      SCOPED_TRACE(vocabulary);
      expect_same(make_case(6, 33, vocabulary));
    }
  });
  for (const int64_t rows : sizes({.cpu = kRows, .cuda = {70}})) {
    SCOPED_TRACE(rows);
    expect_same(make_case(rows, 20, 70));
  }
  for (const int64_t depth : sizes({.cpu = kDepths, .cuda = {1, 513}})) {
    SCOPED_TRACE(depth);
    expect_same(make_case(5, depth, 70));
  }
}

TEST_P(BackendOutputLoss, MatchesTheReferenceWithEveryOption) {
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
  EXPECT_EQ(ignored.forward(backend(), types()).losses.get(4, 0), 0.0);
}

TEST_P(BackendOutputLoss, OfCappedLogitsMatchesTheReference) {
  for (const double cap : {0.5, 3.0, 50.0}) {
    for (const int64_t vocabulary : sizes({.cpu = {2, 17, 300, 1000}, .cuda = {2, 300}})) {
      SCOPED_TRACE(fmt::format("cap {}, vocabulary {}", cap, vocabulary));
      LossCase c = make_case(9, 33, vocabulary);
      c.cap = cap;
      expect_same(c);
    }
  }
}

// A run that diverges must be noticed.
TEST_P(BackendOutputLoss, OfCappedLogitsThatAreNotNumbersIsNotANumber) {
  for (const double cap : {0.5, 3.0, 30.0, 50.0}) {
    LossCase c = make_case(4, 33, 300);
    c.cap = cap;
    c.x.set(1, 5, std::nan(""));
    EXPECT_TRUE(std::isnan(c.forward(backend(), types()).losses.get(1, 0))) << cap;
  }
}

TEST_P(BackendOutputLoss, WithoutGradientsTheLossIsTheSameBits) {
  const int64_t rows = here(70, 20);
  const LossCase c = make_case(rows, 33, here(1000, 300));
  const Guarded losses(DType::f32, rows, 2);
  backend().output_loss({.x = c.x.view(),
                         .weight = {c.weight.view()},
                         .bias = c.bias.view(),
                         .targets = c.targets.view(),
                         .smoothing = c.smoothing,
                         .losses = losses.view()});
  EXPECT_TRUE(same_bits(losses, c.forward(backend(), types()).losses));
  EXPECT_TRUE(losses.untouched());
}

TEST_P(BackendOutputLoss, OfLogitsFarApartIsFinite) {
  LossCase c = make_case(9, 33, 300);
  for (int64_t r = 0; r < 9; ++r) {
    for (int64_t column = 0; column < 33; ++column) {
      c.x.set(r, column, 200.0 * c.x.get(r, column));
    }
  }
  expect_same(c);
}

TEST_P(BackendOutputLoss, ARowIsTheSameBitsAloneAndAmongOthers) {
  struct Part {
    int64_t in, vocabulary;
    double cap;
  };
  const int64_t rows = here(300, 44);
  for (const auto& [in, vocabulary, cap] :
       here<std::vector<Part>>({{33, 300, 0.0}, {33, 300, 3.0}, {600, 1000, 0.0}}, {{33, 300, 3.0}})) {
    SCOPED_TRACE(fmt::format("{} to {}, cap {}", in, vocabulary, cap));
    LossCase c = make_case(rows, in, vocabulary);
    c.cap = cap;
    expect_same_rows(c, rows, [&](const LossCase& part) { return part.forward(backend(), types()).losses; });
    expect_same_rows(c, rows, [&](const LossCase& part) { return part.forward(backend(), types()).d_logits; });
  }
}

TEST_P(BackendOutputLoss, APackedWeightGivesTheSameBits) {
  const LossCase plain = make_case(13, here(600, 65), here(1000, 260));
  const auto packed_weight = backend().pack_matrix(plain.weight.view());
  LossCase packed = plain;
  packed.packed = packed_weight.get();
  for (const int64_t rows : {1, 13}) {
    const auto a = packed.rows(0, rows).forward(backend(), types()),
               b = plain.rows(0, rows).forward(backend(), types());
    EXPECT_TRUE(same_bits(a.losses, b.losses));
    EXPECT_TRUE(same_bits(a.d_logits, b.d_logits));
  }
}

HEED_IN_EACH_SETTING(BackendOutputLoss, products);

class BackendLabelLoss : public BackendTest {};

TEST_P(BackendLabelLoss, MatchesTheReference) {
  for (const LabelLossKind kind : {LabelLossKind::sigmoid, LabelLossKind::squared}) {
    for (const int64_t columns : sizes(kRowLengths)) {
      const LabelLossCase c = LabelLossCase::make(types(), kind, 7, columns);
      const auto actual = c.run(backend(), types()), expected = c.run(reference(), kReferenceTypes);
      EXPECT_TRUE(close(actual.losses, expected.losses, kF32)) << columns;
      EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored())) << columns;
    }
  }
}

TEST_P(BackendLabelLoss, OfLargeLogitsIsFinite) {
  LabelLossCase c = LabelLossCase::make(types(), LabelLossKind::sigmoid, 1, 4);
  for (int64_t column = 0; column < 4; ++column) {
    c.logits.set(0, column, column < 2 ? 1000.0 : -1000.0);
    c.targets.set(0, column, column % 2 == 0 ? 1.0 : 0.0);
  }
  const auto found = c.run(backend(), types());
  EXPECT_EQ(found.losses.get(0, 0), 2000.0);
  EXPECT_EQ(found.d_logits.get(0, 1), 1.0);
  EXPECT_EQ(found.d_logits.get(0, 2), -1.0);
}

HEED_IN_EACH_SETTING(BackendLabelLoss, any_call);

}  // namespace
}  // namespace heed::test
