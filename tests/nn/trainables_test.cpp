#include "nn/weights/trainables.h"

#include <numbers>

#include "nn/embedding.h"
#include "nn/layers.h"
#include "ops/op_testing.h"

namespace heed::test {
namespace {

struct Moments {
  double mean = 0.0, deviation = 0.0, largest = 0.0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) {
    m.mean += v / static_cast<double>(values.size());
    m.largest = std::max(m.largest, std::abs(v));
  }
  for (const double v : values) {
    m.deviation += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  }
  m.deviation = std::sqrt(m.deviation);
  return m;
}

class Training : public ::testing::Test {
 protected:
  std::unique_ptr<Backend> backend_ = make_reference_backend();
  Weights weights_;
  std::optional<Trainables> trainables_;

  std::vector<double> values(std::string_view name) { return values_of(trainables_->find(name).master()); }
  void start(uint64_t seed = 1) {
    trainables_.emplace(*backend_, weights_, DType::f64);
    trainables_->initialize(*backend_, seed);
  }
};

TEST_F(Training, XavierIsUniformWithinItsBoundInEveryStackedPart) {
  constexpr int64_t kIn = 96, kOut = 64, kParts = 3;
  weights_.add("stacked", {kParts * kOut, kIn}, WeightUse::product, Initialization::xavier_uniform(kParts));
  start();
  const double bound = std::sqrt(6.0 / (kIn + kOut));
  const std::vector<double> all = values("stacked");
  for (int64_t part = 0; part < kParts; ++part) {
    const std::vector<double> one(all.begin() + part * kOut * kIn, all.begin() + (part + 1) * kOut * kIn);
    const Moments m = moments_of(one);
    EXPECT_LE(m.largest, bound);
    EXPECT_GT(m.largest, 0.99 * bound);
    EXPECT_NEAR(m.deviation, bound / std::numbers::sqrt3, 0.02 * bound);
    EXPECT_NEAR(m.mean, 0.0, 4.0 * m.deviation / std::sqrt(kOut * kIn));
  }
}

TEST_F(Training, NormalHasItsDeviationAndZerosAndOnesTheirValues) {
  weights_.add("normal", {100, 100}, WeightUse::product, Initialization::normal(0.02));
  weights_.add("zeros", {7}, WeightUse::vector, Initialization::zeros());
  weights_.add("ones", {7}, WeightUse::vector, Initialization::ones());
  start();
  const Moments m = moments_of(values("normal"));
  EXPECT_NEAR(m.deviation, 0.02, 0.0005);
  EXPECT_NEAR(m.mean, 0.0, 0.0008);
  EXPECT_GT(m.largest, 0.06);
  EXPECT_EQ(values("zeros"), std::vector<double>(7, 0.0));
  EXPECT_EQ(values("ones"), std::vector<double>(7, 1.0));
}

TEST_F(Training, PyTorchsLinearLayersAreUniformByTheirInputs) {
  constexpr int64_t kIn = 96, kOut = 200;
  Linear(Scope(weights_) / "layer",
         {.inputs = kIn, .outputs = kOut, .initialization = Initialization::inputs_uniform(), .op = {}});
  start();
  const double bound = 1.0 / std::sqrt(kIn);
  for (const std::string name : {"layer.weight", "layer.bias"}) {
    SCOPED_TRACE(name);
    const std::vector<double> all = values(name);
    const Moments m = moments_of(all);
    const double count = static_cast<double>(all.size());
    EXPECT_LE(m.largest, bound);
    EXPECT_GT(m.largest, 0.97 * bound);
    EXPECT_NEAR(m.deviation, bound / std::numbers::sqrt3, bound / std::sqrt(count));
    EXPECT_NEAR(m.mean, 0.0, 4.0 * m.deviation / std::sqrt(count));
  }
}

TEST(Weights, AreInitializedTheSameWhateverElseTheModelHas) {
  const auto backend = make_reference_backend();
  const auto begin = [&](const std::vector<std::string>& names, uint64_t seed) {
    Weights weights;
    for (const std::string& name : names) {
      weights.add(name, {5, 3}, WeightUse::product, Initialization::normal(1.0));
    }
    Trainables trainables(*backend, weights, DType::f64, Trainables::Gradients::none);
    trainables.initialize(*backend, seed);
    return values_of(trainables.find("b").master());
  };
  EXPECT_EQ(begin({"a", "b"}, 1), begin({"b", "c", "d"}, 1));
  EXPECT_NE(begin({"b"}, 1), begin({"b"}, 2));
}

TEST_F(Training, GradientsThatNothingContributedToAreZeroOnceAnUpdateIsFinished) {
  const Weight& used = weights_.add("used", {3, 4}, WeightUse::product, Initialization::normal(1.0));
  const Weight& unused = weights_.add("unused", {3, 4}, WeightUse::product, Initialization::normal(1.0));
  start();
  backend_->fill(trainables_->gradients(), 7.0);
  trainables_->begin_update();
  Tape tape;
  Pass pass = Pass::train(*backend_, DType::f64, tape, RandomKey{1});
  const Var x = make_var(*backend_, random_tensor({2, 4}, 1).view());
  output_loss(pass, Hidden(x), {&used, nullptr}, Targets({1, 2}), Smoothing{});
  tape.backward(*backend_);
  const std::vector<double> contributed = values_of(used.trainable().gradient());
  trainables_->finish_update(*backend_);
  EXPECT_EQ(values_of(unused.trainable().gradient()), std::vector<double>(12, 0.0));
  EXPECT_EQ(values_of(used.trainable().gradient()), contributed);
  EXPECT_NE(contributed, std::vector<double>(12, 7.0));
}

TEST_F(Training, StoresWeightsDisjointlyInReverseOrder) {
  weights_.add("first", {3, 5}, WeightUse::product, Initialization::ones());
  weights_.add("second", {7}, WeightUse::vector, Initialization::ones());
  start();
  EXPECT_EQ(weights_.elements(), 22);
  const double* const first = host<double>(trainables_->find("first").master()).data;
  const double* const second = host<double>(trainables_->find("second").master()).data;
  EXPECT_LE(second + 7, first);
  EXPECT_LE(first + 15, host<double>(trainables_->masters()).data + trainables_->masters().elements());
}

TEST_F(Training, RefusesDuplicateAndUnknownNames) {
  weights_.add("a.weight", {2}, WeightUse::vector, Initialization::zeros());
  expect_error<InternalError>([&] { weights_.add("a.weight", {2}, WeightUse::vector, Initialization::zeros()); },
                              {"a.weight", "twice"});
  expect_error<ConfigError>([&] { weights_.find("b.weight"); }, {"weights: ", "b.weight"});
  start();
  expect_error<InternalError>([&] { weights_.add("late", {2}, WeightUse::vector, Initialization::zeros()); },
                              {"late", "memory"});
}

TEST_F(Training, MatricesAreReadInTheRunsPrecisionAndVectorsFromTheirMasters) {
  const auto backend = make_reference_backend(DType::f32);
  weights_.add("w", {4, 5}, WeightUse::product, Initialization::normal(1.0));
  weights_.add("gain", {5}, WeightUse::vector, Initialization::normal(1.0));
  trainables_.emplace(*backend, weights_, DType::bf16, Trainables::Gradients::none);
  trainables_->initialize(*backend, 1);
  const Weight& w = weights_.find("w");
  const View master = w.trainable().master();
  EXPECT_TRUE(w.trainable().gradient().empty());
  ASSERT_EQ(w.value().matrix.type(), DType::bf16);
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t c = 0; c < 5; ++c) {
      const auto exact = static_cast<float>(get(master, r, c));
      EXPECT_EQ(get(w.value().matrix, r, c), static_cast<double>(static_cast<float>(bf16(exact))));
    }
  }
  const Weight& gain = weights_.find("gain");
  EXPECT_EQ(values_of(gain.vector()), values_of(gain.trainable().master()));
}

TEST(Weights, StoredForMeasuringAreTheInitialOnesOfTraining) {
  const auto backend = make_reference_backend(DType::f32);
  Weights held, trained;
  for (Weights* const weights : {&held, &trained}) {
    weights->add("table", {4, 5}, WeightUse::table, Initialization::normal(1.0));
    weights->add("gain", {5}, WeightUse::vector, Initialization::normal(1.0));
  }
  Trainables trainables(*backend, trained, DType::bf16, Trainables::Gradients::none);
  trainables.initialize(*backend, 3);
  held.store_initial(*backend, DType::bf16, 3);
  EXPECT_EQ(values_of(held.find("table").value().matrix), values_of(trained.find("table").value().matrix));
  EXPECT_EQ(values_of(held.find("gain").vector()), values_of(trained.find("gain").vector()));
}

// ---- counts ----

int64_t encoder_layer_parameters(Bias bias, Gating gating, int64_t key_heads) {
  Weights weights;
  StackShape shape{
      .layers = 1,
      .attention =
          {.model = 8, .heads = 4, .key_value_heads = key_heads, .head_width = 3, .bias = bias, .output_bias = bias},
      .feed_forward = {.model = 8, .inner = 10, .gating = gating, .bias = bias},
      .residual = {.norm = {.width = 8, .bias = bias}}};
  shape.final_norm = FinalNorm::none;
  SelfAttentionStack(Scope(weights), shape);
  return weights.elements();
}

TEST(WeightCount, OfALayerIsThatOfItsMatrices) {
  const int64_t norms = 2 * (8 + 8);
  EXPECT_EQ(encoder_layer_parameters(Bias::present, Gating::plain, 4),
            (36 * 8 + 36) + (8 * 12 + 8) + (10 * 8 + 10) + (8 * 10 + 8) + norms);
  EXPECT_EQ(encoder_layer_parameters(Bias::none, Gating::plain, 4), 36 * 8 + 8 * 12 + 10 * 8 + 8 * 10 + 2 * 8);
  EXPECT_EQ(encoder_layer_parameters(Bias::none, Gating::gated, 2), (12 + 12) * 8 + 8 * 12 + 20 * 8 + 8 * 10 + 2 * 8);
}

// ---- positions ----

TEST(SinusoidalPositions, HaveKnownValuesAtTheFirstTwoPositions) {
  const Tensor table = sinusoidal_positions(2, {.model = 6}, DType::f64);
  for (int64_t c = 0; c < 6; ++c) {
    EXPECT_EQ(get(table.view(), 0, c), c % 2 == 0 ? 0.0 : 1.0);
  }
  EXPECT_DOUBLE_EQ(get(table.view(), 1, 0), 0.8414709848078965);
  EXPECT_DOUBLE_EQ(get(table.view(), 1, 1), 0.5403023058681398);
  EXPECT_NEAR(get(table.view(), 1, 2), 0.0463992234647, 1e-12);  // sin(10000^(-1/3))
  EXPECT_NEAR(get(table.view(), 1, 5), 0.9999976792065, 1e-12);  // cos(10000^(-2/3))
}

// [sin, cos] of a pair at p + k is [[c, s], [-s, c]] times that at p, where c and s depend on k alone.
TEST(SinusoidalPositions, AShiftIsARotationOfEachPair) {
  constexpr int64_t kPositions = 50, kModel = 16, kShift = 7;
  const Tensor table = sinusoidal_positions(kPositions, {.model = kModel}, DType::f64);
  for (int64_t c = 0; c < kModel; c += 2) {
    // Position 0 is [0, 1], so the shift itself says what the rotation is.
    const double sine = get(table.view(), kShift, c), cosine = get(table.view(), kShift, c + 1);
    EXPECT_NEAR(sine * sine + cosine * cosine, 1.0, 1e-12);
    for (int64_t p = 0; p + kShift < kPositions; ++p) {
      const double x = get(table.view(), p, c), y = get(table.view(), p, c + 1);
      EXPECT_NEAR(get(table.view(), p + kShift, c), cosine * x + sine * y, 1e-12) << p << " " << c;
      EXPECT_NEAR(get(table.view(), p + kShift, c + 1), -sine * x + cosine * y, 1e-12) << p << " " << c;
    }
  }
}

TEST(SinusoidalPositions, AProductDependsOnTheDistanceAlone) {
  constexpr int64_t kPositions = 40, kModel = 32;
  const Tensor table = sinusoidal_positions(kPositions, {.model = kModel}, DType::f64);
  const auto product = [&](int64_t p, int64_t q) {
    double sum = 0.0;
    for (int64_t c = 0; c < kModel; ++c) {
      sum += get(table.view(), p, c) * get(table.view(), q, c);
    }
    return sum;
  };
  for (const int64_t distance : {0, 1, 5, 20}) {
    for (int64_t p = 0; p + distance < kPositions; ++p) {
      EXPECT_NEAR(product(p, p + distance), product(0, distance), 1e-10) << p << " " << distance;
    }
  }
}

TEST(SinusoidalPositions, TurnFasterInTheFirstColumnsThanInTheLast) {
  constexpr int64_t kModel = 512;
  const Tensor table = sinusoidal_positions(64, {.model = kModel}, DType::f64);
  // Pair 0 has turned by more than half a circle at position 4; the last has hardly moved at 63.
  EXPECT_LT(get(table.view(), 4, 0), 0.0);
  EXPECT_NEAR(get(table.view(), 63, kModel - 2), 0.0, 0.01);
  EXPECT_NEAR(get(table.view(), 63, kModel - 1), 1.0, 1e-4);
}

TEST(SinusoidalPositions, InHalvesHaveSinesBeforeCosines) {
  const Tensor pairs = sinusoidal_positions(9, {.model = 8}, DType::f64);
  const Tensor halves = sinusoidal_positions(7, {8, SinusoidLayout::halves, 2}, DType::f64);
  for (int64_t p = 0; p < 7; ++p) {
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(get(halves.view(), p, i), get(pairs.view(), p + 2, 2 * i)) << p << " " << i;
      EXPECT_EQ(get(halves.view(), p, 4 + i), get(pairs.view(), p + 2, 2 * i + 1)) << p << " " << i;
    }
  }
}

TEST(SinusoidalPositions, InclusiveHalvesTurnBetweenOneAndATenThousandth) {
  const Tensor table = sinusoidal_positions(2, {8, SinusoidLayout::halves_inclusive, 0}, DType::f64);
  EXPECT_DOUBLE_EQ(get(table.view(), 1, 0), 0.8414709848078965);
  EXPECT_NEAR(get(table.view(), 1, 1), 0.0463992234647, 1e-12);  // sin(10000^(-1/3))
  EXPECT_NEAR(get(table.view(), 1, 6), 0.9999976792065, 1e-12);  // cos(10000^(-2/3))
  EXPECT_NEAR(get(table.view(), 1, 3), 1e-4, 1e-11);
  const Tensor narrow = sinusoidal_positions(2, {2, SinusoidLayout::halves_inclusive, 0}, DType::f64);
  EXPECT_DOUBLE_EQ(get(narrow.view(), 1, 0), 0.8414709848078965);
}

TEST(SinusoidalPositions, AreAccurateToOneUlpAtLargePositions) {
  constexpr int64_t kPlace = 100000, kModel = 64;
  const Tensor table = sinusoidal_positions(kPlace + 1, {.model = kModel}, DType::f32);
  for (int64_t c = 0; c < kModel; ++c) {
    const long double rate =
        std::pow(10000.0L, -static_cast<long double>(c / 2 * 2) / static_cast<long double>(kModel));
    const long double angle = static_cast<long double>(kPlace) * rate;
    const auto exact = static_cast<double>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    const auto nearest_float = static_cast<float>(exact);
    const double step = std::nextafter(std::abs(nearest_float), 2.0F) - std::abs(nearest_float);
    EXPECT_NEAR(get(table.view(), kPlace, c), exact, step) << "column " << c;
  }
}

}  // namespace
}  // namespace heed::test
