#include <limits>

#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

class CudaLogProbabilities : public CudaTest {
 protected:
  static Guarded average(Backend& backend, const std::vector<Guarded>& models, DType master) {
    std::vector<Guarded> of_models;
    std::vector<ConstView> views;
    for (const Guarded& model : models) {
      views.push_back(of_models.emplace_back(converted(model, master)).view());
    }
    const Guarded mean(master, models.front().rows(), models.front().columns());
    backend.average_probabilities({.log_probs = views, .mean = mean.view()});
    EXPECT_TRUE(mean.untouched());
    return mean;
  }
  LossCase case_of(int64_t rows, int64_t vocabulary, DType type) {
    LossCase c;
    c.x = random(type, rows, vocabulary, 47, 3.0);
    return c;
  }
};
HEED_ON_CUDA(CudaLogProbabilities);

TEST_P(CudaLogProbabilities, OfLogitsMatchTheReference) {
  with_each_layout([&] {
    for (const DType type : {DType::f32, storage()}) {
      for (const int64_t vocabulary : {1, 2, 8, 9, 31, 33, 257, 1025, 2051, 16390}) {
        SCOPED_TRACE(vocabulary);
        const LossCase c = case_of(6, vocabulary, type);
        EXPECT_TRUE(close(c.log_probs(cuda(), types()), c.log_probs(reference(), kReferenceTypes), kF32));
      }
    }
  });
  LossCase apart = case_of(9, 300, storage());
  cuda().scale(apart.x.view(), 200.0);
  EXPECT_TRUE(close(apart.log_probs(cuda(), types()), apart.log_probs(reference(), kReferenceTypes), kF32));
}

TEST_P(CudaLogProbabilities, ARowIsTheSameBitsAloneAndAmongOthers) {
  for (const int64_t vocabulary : {300, 1300}) {
    const LossCase c = LossCase::make(types(), 44, 1, vocabulary);
    LossCase logits = c;
    logits.x = random(storage(), 44, vocabulary, 48, 3.0);
    expect_same_rows(logits, 44, [&](const LossCase& part) { return part.log_probs(cuda(), types()); });
  }
}

TEST_P(CudaLogProbabilities, OfExcludedTokensAreMinusInfinity) {
  const Guarded logits(DType::f32, 1, 70), log_probs(DType::f32, 1, 70);
  for (int64_t c = 0; c < 70; ++c) {
    logits.set(0, c, c == 40 || c == 41 ? 2.0 : kNever);
  }
  cuda().log_softmax(logits.view(), log_probs.view());
  EXPECT_NEAR(log_probs.get(0, 40), std::log(0.5), 1e-6);
  EXPECT_EQ(log_probs.get(0, 3), kNever);
}

TEST_P(CudaLogProbabilities, OfSelectedColumnsMatchTheReference) {
  for (const DType type : {DType::f32, storage()}) {
    constexpr int64_t kRows = 9, kMost = 1 + 11 * (kRows - 1) + 2;
    const Guarded logits = random(type, kRows, 300, 8, 3.0), ranges(DType::i32, 2, kRows);
    std::vector<int64_t> columns{7};  // of no row
    for (int64_t r = 0; r < kRows; ++r) {
      ranges.set(0, r, static_cast<double>(columns.size()));
      for (int64_t i = 0; i < 1 + 11 * r; ++i) {
        columns.push_back((r * 17 + i * 31) % 300);
      }
      ranges.set(1, r, static_cast<double>(columns.size()));
    }
    const Guarded selected = integers(columns);
    const auto run = [&](Backend& backend, DType master) {
      const Guarded result(master, kRows, kMost);
      backend.selected_log_softmax(
          {.logits = logits.view(), .columns = selected.view(), .ranges = ranges.view(), .log_probs = result.view()});
      return result;
    };
    const Guarded found = run(cuda(), DType::f32);
    EXPECT_TRUE(close(found, run(reference(), DType::f64), kF32));
    EXPECT_EQ(found.get(0, 1), kNever);
  }
}

TEST_P(CudaLogProbabilities, AveragesMatchTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : kPackColumns) {
      for (const size_t count : {1, 2, 5}) {
        SCOPED_TRACE(fmt::format("{} columns, {} models", columns, count));
        std::vector<Guarded> models;
        for (size_t k = 0; k < count; ++k) {
          models.push_back(random(DType::f32, 7, columns, 30 + k, 5.0, {static_cast<int64_t>(k), 3}));
        }
        EXPECT_TRUE(close(average(cuda(), models, DType::f32), average(reference(), models, DType::f64), kF32));
      }
    }
  });
}

TEST_P(CudaLogProbabilities, AveragesAllowTokensThatAModelExcludesAndKeepNaN) {
  const std::vector<std::vector<double>> one_row{{std::log(0.5), -90.0, kNever, kNever, -1000.0, 0.0},
                                                 {std::log(0.25), -90.0, std::log(0.5), kNever, -2000.0, std::nan("")}};
  const std::vector<double> expected{std::log(0.375), -90.0, std::log(0.25), kNever, -1000.0 - std::log(2.0)};
  std::vector<Guarded> models;
  for (const std::vector<double>& values : one_row) {
    const Guarded& model = models.emplace_back(DType::f32, 1, std::ssize(values));
    for (size_t c = 0; c < values.size(); ++c) {
      model.set(0, static_cast<int64_t>(c), values[c]);
    }
  }
  const Guarded found = average(cuda(), models, DType::f32);
  for (size_t c = 0; c < expected.size(); ++c) {
    const double value = found.get(0, static_cast<int64_t>(c));
    EXPECT_TRUE(value == expected[c] || std::abs(value - expected[c]) < 1e-6 * std::abs(expected[c])) << value;
  }
  EXPECT_TRUE(std::isnan(found.get(0, 5)));
}

class CudaLabelLoss : public CudaTest {};
HEED_ON_CUDA(CudaLabelLoss);

TEST_P(CudaLabelLoss, MatchesTheReference) {
  for (const LabelLossKind kind : {LabelLossKind::sigmoid, LabelLossKind::squared}) {
    for (const int64_t columns : kPackColumns) {
      const LabelLossCase c = LabelLossCase::make(types(), kind, 7, columns);
      const auto actual = c.run(cuda(), types()), expected = c.run(reference(), kReferenceTypes);
      EXPECT_TRUE(close(actual.losses, expected.losses, kF32)) << columns;
      EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored())) << columns;
    }
  }
}

TEST_P(CudaLabelLoss, OfLargeLogitsIsFinite) {
  LabelLossCase c = LabelLossCase::make(types(), LabelLossKind::sigmoid, 1, 4);
  for (int64_t column = 0; column < 4; ++column) {
    c.logits.set(0, column, column < 2 ? 1000.0 : -1000.0);
    c.targets.set(0, column, column % 2 == 0 ? 1.0 : 0.0);
  }
  const auto found = c.run(cuda(), types());
  EXPECT_EQ(found.losses.get(0, 0), 2000.0);
  EXPECT_EQ(found.d_logits.get(0, 1), 1.0);
  EXPECT_EQ(found.d_logits.get(0, 2), -1.0);
}

}  // namespace
}  // namespace heed::test
