#include "optim/muon.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "kernels/cpu/cpu_backend.h"
#include "ops/op_testing.h"
#include "optim/optimizer.h"

namespace heed::test {
namespace {

// The effect of the iteration on one singular value.
double orthogonalized(double s, int64_t steps = 5) {
  const double few[3][3] = {{8.0934, -23.6204, 17.4462}, {3.6366, -2.7219, 0.5365}, {2.6613, -1.9772, 0.4526}};
  const double fast[3] = {3.4445, -4.7750, 2.0315};
  for (int64_t step = 0; step < steps; ++step) {
    const double* const p = steps == 5 ? fast : few[step];
    s = p[0] * s + p[1] * std::pow(s, 3) + p[2] * std::pow(s, 5);
  }
  return s;
}

Tensor random_matrix(int64_t rows, int64_t columns, DType type) {
  Tensor x({rows, columns}, type);
  fill_random(x.view(), 7, 1.0 / std::sqrt(static_cast<double>(rows * columns)));
  return x;
}

TEST(Orthogonalization, ChangesOnlySingularValues) {
  const auto backend = make_reference_backend();
  const std::vector<double> values{0.8, 0.5, 0.3, 0.1, 0.01};
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{5, 8}, {8, 5}, {5, 5}}) {
    SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
    Tensor x({rows, columns}, DType::f64);
    backend->fill(x.view(), 0.0);
    for (int64_t i = 0; i < 5; ++i) {
      host<double>(x.view())(i, i) = values[static_cast<size_t>(i)];
    }
    orthogonalize(*backend, x.view());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const double expected = r == c ? orthogonalized(values[static_cast<size_t>(r)]) : 0.0;
        EXPECT_NEAR(host<double>(x.view())(r, c), expected, 1e-12) << r << ", " << c;
      }
    }
  }
}

TEST(Orthogonalization, EndsWhereTheCommentsSayItDoes) {
  const auto backend = make_reference_backend();
  const auto end_of = [&](double s, int64_t steps) {
    Tensor x({1, 1}, DType::f64);
    *x.data<double>() = s;
    orthogonalize(*backend, x.view(), steps);
    return *x.data<double>();
  };
  for (double s = 0.002; s <= 1.0; s *= 1.01) {
    EXPECT_GE(end_of(s, 5), 0.68) << s;
    EXPECT_LE(end_of(s, 5), 1.21) << s;
    if (s >= 0.01) {
      EXPECT_NEAR(end_of(s, 3), 1.0, 0.27) << s;
    }
    EXPECT_NEAR(end_of(s, 3), orthogonalized(s, 3), 1e-12);
  }
  EXPECT_NEAR(end_of(0.001, 5), 0.47, 0.005);
  EXPECT_NEAR(end_of(1e-5, 3), 78e-5, 1e-5);
}

TEST(Orthogonalization, ATransposedMatrixHasTheTransposedDirection) {
  const auto backend = make_reference_backend();
  const Tensor wide = random_matrix(6, 11, DType::f64);
  const Tensor tall({11, 6}, DType::f64);
  for (int64_t r = 0; r < 6; ++r) {
    for (int64_t c = 0; c < 11; ++c) {
      host<double>(tall.view())(c, r) = host<double>(wide.view())(r, c);
    }
  }
  orthogonalize(*backend, wide.view());
  orthogonalize(*backend, tall.view());
  for (int64_t r = 0; r < 6; ++r) {
    for (int64_t c = 0; c < 11; ++c) {
      EXPECT_NEAR(host<double>(tall.view())(c, r), host<double>(wide.view())(r, c), 1e-12);
    }
  }
}

TEST(Orthogonalization, TheProcessorsBackendAgreesWithTheReference) {
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(2);
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{48, 96}, {96, 48}, {64, 64}}) {
    const Tensor expected = random_matrix(rows, columns, DType::f64), actual = random_matrix(rows, columns, DType::f32);
    orthogonalize(*reference, expected.view());
    orthogonalize(*cpu, actual.view());
    const std::vector<double> a = values_of(actual.view()), e = values_of(expected.view());
    for (size_t i = 0; i < e.size(); ++i) {
      ASSERT_NEAR(a[i], e[i], 1e-4) << rows << " x " << columns;
    }
  }
}

const WeightIdentity kHidden{.roles = {{WeightRole::up}}};

class Muon : public testing::Test {
 protected:
  // A hidden matrix of two stacked ones, and weights that Muon leaves to Adam.
  void SetUp() override {
    weights_.add("layer.weight", {8, 6}, WeightUse::product, Initialization::xavier_uniform(2), {}, kHidden);
    weights_.add("layer.bias", {8}, WeightUse::vector, Initialization::normal(1.0));
    weights_.add("embedding", {9, 6}, WeightUse::product_and_table, Initialization::normal(1.0));
    weights_.add("output.weight", {9, 6}, WeightUse::product, Initialization::normal(1.0), {},
                 {.roles = {{WeightRole::logits}}});
    trainables_.emplace(*backend_, weights_, DType::f64);
    trainables_->initialize(*backend_, 1);
  }
  void set_gradients(uint64_t seed = 3) {
    for (Trainable& trainable : trainables_->all()) {
      fill_random(trainable.gradient_to_add_to(*backend_), seed++);
    }
  }
  std::vector<double> master(const char* name) const { return values_of(trainables_->find(name).master()); }

  std::unique_ptr<Backend> backend_ = make_reference_backend();
  Weights weights_;
  std::optional<Trainables> trainables_;
};

TEST_F(Muon, UpdatesEachOfTheStackedMatricesSeparately) {
  const OptimizerConfig config{.kind = OptimizerKind::muon, .momentum = 0.9, .weight_decay = 0.1, .max_norm = 0.0};
  Optimizer optimizer(*backend_, *trainables_, config);
  const std::vector<double> before = master("layer.weight");
  set_gradients();
  const std::vector<double> gradient = values_of(trainables_->find("layer.weight").gradient());
  optimizer.update(*backend_, 0.01);
  const std::vector<double> after = master("layer.weight");
  for (size_t part = 0; part < 2; ++part) {
    // From rest, the direction of g + momentum g is that of g.
    Tensor direction({4, 6}, DType::f64);
    double squares = 0.0;
    for (size_t i = 0; i < 24; ++i) {
      squares += gradient[part * 24 + i] * gradient[part * 24 + i];
    }
    for (size_t i = 0; i < 24; ++i) {
      direction.data<double>()[i] = gradient[part * 24 + i] / std::sqrt(squares);
    }
    orthogonalize(*backend_, direction.view());
    for (size_t i = 0; i < 24; ++i) {
      const double w = before[part * 24 + i];
      const double step = 0.2 * std::sqrt(6.0) * direction.data<double>()[i] + 0.1 * w;
      EXPECT_NEAR(after[part * 24 + i], w - 0.01 * step, 1e-12);
    }
  }
}

// The row moments of each of the stacked matrices are its own, and go on from update to update.
TEST_F(Muon, RowMomentsDivideRowsAndKeepTheNormOfTheStep) {
  constexpr double kKept = 0.9, kRate = 0.01;
  const OptimizerConfig plain{.kind = OptimizerKind::muon, .momentum = 0.0, .weight_decay = 0.0, .max_norm = 0.0};
  OptimizerConfig by_rows = plain;
  by_rows.row_moments = kKept;
  const auto steps = [&](const OptimizerConfig& config) {
    trainables_->initialize(*backend_, 1);
    Optimizer optimizer(*backend_, *trainables_, config);
    std::vector<std::vector<double>> taken;
    for (uint64_t update = 0; update < 2; ++update) {
      const std::vector<double> before = master("layer.weight");
      set_gradients(10 * update);
      optimizer.update(*backend_, kRate);
      taken.push_back(master("layer.weight"));
      std::ranges::transform(before, taken.back(), taken.back().begin(), std::minus());
    }
    return taken;
  };
  const auto expected = steps(plain), found = steps(by_rows);
  std::vector<double> moments(8);
  for (size_t update = 0; update < 2; ++update) {
    for (size_t part = 0; part < 2; ++part) {
      double before = 0.0, after = 0.0;
      std::vector<double> divided;
      for (size_t row = 4 * part; row < 4 * part + 4; ++row) {
        const std::span<const double> step = std::span(expected[update]).subspan(6 * row, 6);
        const double squares = std::inner_product(step.begin(), step.end(), step.begin(), 0.0);
        moments[row] = kKept * moments[row] + (1.0 - kKept) * squares / 6.0;
        for (const double x : step) {
          divided.push_back(x / std::sqrt(moments[row]));
          before += x * x;
          after += divided.back() * divided.back();
        }
      }
      for (size_t i = 0; i < divided.size(); ++i) {
        EXPECT_NEAR(found[update][24 * part + i], divided[i] * std::sqrt(before / after), 1e-9) << update << part << i;
      }
    }
  }
}

// The masters after three updates, on this many threads.
std::vector<double> updated(int threads, double row_moments = 0.0) {
  const auto backend = make_cpu_backend(threads);
  Weights weights;
  weights.add("first.weight", {96, 48}, WeightUse::product, Initialization::xavier_uniform(2), {}, kHidden);
  weights.add("second.weight", {40, 80}, WeightUse::product, Initialization::xavier_uniform(), {}, kHidden);
  Trainables trainables(*backend, weights, DType::bf16);
  trainables.initialize(*backend, 1);
  Optimizer optimizer(*backend, trainables, {.kind = OptimizerKind::muon, .row_moments = row_moments});
  uint64_t seed = 3;
  for (int update = 0; update < 3; ++update) {
    for (Trainable& trainable : trainables.all()) {
      fill_random(trainable.gradient_to_add_to(*backend), seed++);
    }
    optimizer.update(*backend, 0.01);
  }
  return values_of(trainables.masters());
}

TEST(MuonOnTheProcessor, HasTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<double> alone = updated(1);
  EXPECT_TRUE(same_bits(updated(2), alone));  // each of the three matrices by one thread
  EXPECT_TRUE(same_bits(updated(4), alone));  // each by all threads
  const std::vector<double> by_rows = updated(1, 0.95);
  EXPECT_TRUE(same_bits(updated(2, 0.95), by_rows));
  EXPECT_TRUE(same_bits(updated(4, 0.95), by_rows));
  EXPECT_FALSE(same_bits(by_rows, alone));
}

TEST_F(Muon, LeavesOtherWeightsToAdamW) {
  set_gradients();
  Optimizer optimizer(*backend_, *trainables_, {.kind = OptimizerKind::muon});
  optimizer.update(*backend_, 0.01);
  const std::vector<double> bias = master("layer.bias"), embedding = master("embedding"),
                            output = master("output.weight"), matrix = master("layer.weight");
  trainables_->initialize(*backend_, 1);
  set_gradients();
  Optimizer adam(*backend_, *trainables_, {.kind = OptimizerKind::adamw});
  adam.update(*backend_, 0.01);
  EXPECT_TRUE(same_bits(bias, master("layer.bias")));
  EXPECT_TRUE(same_bits(embedding, master("embedding")));
  EXPECT_TRUE(same_bits(output, master("output.weight")));
  EXPECT_FALSE(same_bits(matrix, master("layer.weight")));
}

TEST_F(Muon, ANaNGradientChangesNothing) {
  Optimizer optimizer(*backend_, *trainables_, {.kind = OptimizerKind::muon});
  const std::vector<double> before = values_of(trainables_->masters());
  set_gradients();
  set(trainables_->find("layer.bias").gradient(), 0, 3, std::nan(""));
  optimizer.update(*backend_, 0.01);
  EXPECT_TRUE(same_bits(values_of(trainables_->masters()), before));
  EXPECT_EQ(optimizer.updates(), 0);
}

}  // namespace
}  // namespace heed::test
