#include <limits>

#include "backends/backend_test.h"

namespace heed::test {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

class BackendLogProbabilities : public BackendTest {
 protected:
  void expect_same(const Guarded& logits) {
    const LossCase c{.x = logits};
    EXPECT_TRUE(close(c.log_probs(backend(), types()), c.log_probs(reference(), kReferenceTypes), kF32));
  }
};

TEST_P(BackendLogProbabilities, OfLogitsMatchTheReference) {
  with_each_layout([&] {
    for (const DType type : {DType::f32, storage()}) {
      for (const int64_t vocabulary : sizes({.cpu = {1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 100, 257, 1000, 2051},
                                      .cuda = {1, 2, 8, 9, 31, 33, 257, 1025, 2051, 16390}})) {
        SCOPED_TRACE(vocabulary);
        expect_same(random(type, 6, vocabulary, 47, 3.0));
      }
    }
  });
  expect_same(random(storage(), 9, 300, 47, 500.0));  // far apart
}

TEST_P(BackendLogProbabilities, ARowIsTheSameBitsAloneAndAmongOthers) {
  const int64_t rows = here(300, 44);
  for (const int64_t vocabulary : {300, 1300}) {
    LossCase c = LossCase::make(types(), rows, 1, vocabulary);
    c.x = random(storage(), rows, vocabulary, 48, 3.0);
    expect_same_rows(c, rows, [&](const LossCase& part) { return part.log_probs(backend(), types()); });
  }
}

TEST_P(BackendLogProbabilities, OfExcludedTokensAreMinusInfinity) {
  const Guarded logits(DType::f32, 1, 70), log_probs(DType::f32, 1, 70);
  for (int64_t c = 0; c < 70; ++c) {
    logits.set(0, c, c == 40 || c == 41 ? 2.0 : kNever);
  }
  backend().log_softmax(logits.view(), log_probs.view());
  EXPECT_NEAR(log_probs.get(0, 40), std::log(0.5), 1e-6);
  EXPECT_EQ(log_probs.get(0, 3), kNever);
}

HEED_IN_EACH_SETTING(BackendLogProbabilities, products);

class BackendAverageProbabilities : public BackendTest {
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
};

TEST_P(BackendAverageProbabilities, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : sizes(kRowLengths)) {
      for (const size_t count : {1, 2, 5}) {
        SCOPED_TRACE(fmt::format("{} columns, {} models", columns, count));
        std::vector<Guarded> models;
        for (size_t k = 0; k < count; ++k) {
          models.push_back(random(DType::f32, 7, columns, 30 + k, 5.0, {static_cast<int64_t>(k), 3}));
        }
        EXPECT_TRUE(close(average(backend(), models, DType::f32), average(reference(), models, DType::f64), kF32));
      }
    }
  });
}

TEST_P(BackendAverageProbabilities, HasKnownValuesAndAllowsTokensThatAModelExcludes) {
  const std::vector<std::vector<double>> one_row{{std::log(0.5), -90.0, kNever, kNever, -1000.0},
                                                 {std::log(0.25), -90.0, std::log(0.5), kNever, -2000.0}};
  const std::vector<double> expected{std::log(0.375), -90.0, std::log(0.25), kNever, -1000.0 - std::log(2.0)};
  std::vector<Guarded> models;
  for (const std::vector<double>& values : one_row) {
    const Guarded& model = models.emplace_back(DType::f32, 1, std::ssize(values));
    for (size_t c = 0; c < values.size(); ++c) {
      model.set(0, static_cast<int64_t>(c), values[c]);
    }
  }
  const Guarded found = average(backend(), models, DType::f32), exact = average(reference(), models, DType::f64);
  for (int64_t c = 0; c < found.columns(); ++c) {
    const double wanted = expected[static_cast<size_t>(c)];
    if (std::isinf(wanted)) {
      EXPECT_EQ(found.get(0, c), wanted);
      EXPECT_EQ(exact.get(0, c), wanted);
    } else {
      EXPECT_NEAR(found.get(0, c), wanted, 1e-6 * std::abs(wanted));
      EXPECT_NEAR(exact.get(0, c), wanted, 1e-6 * std::abs(wanted));
    }
  }
}

TEST_P(BackendAverageProbabilities, ANaNOfAnyModelIsOneOfTheMean) {
  for (const size_t of_model : {0, 1, 2}) {
    std::vector<Guarded> models;
    for (size_t k = 0; k < 3; ++k) {
      models.push_back(random(DType::f32, 2, 20, 50 + k));
    }
    models[of_model].set(1, 5, std::nan(""));
    models[of_model].set(1, 19, std::nan(""));
    for (const Guarded& found : {average(backend(), models, DType::f32), average(reference(), models, DType::f64)}) {
      for (int64_t c = 0; c < 20; ++c) {
        EXPECT_FALSE(std::isnan(found.get(0, c)));
        EXPECT_EQ(std::isnan(found.get(1, c)), c == 5 || c == 19) << "column " << c << ", model " << of_model;
      }
    }
  }
}

HEED_IN_EACH_SETTING(BackendAverageProbabilities, any_call);

}  // namespace
}  // namespace heed::test
