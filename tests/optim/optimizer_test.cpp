#include "optim/optimizer.h"

#include <limits>

#include "kernels/cpu/cpu_backend.h"
#include "ops/op_testing.h"

namespace heed::test {
namespace {

constexpr double kRate = 0.01;

// Adam of one scalar, from its paper; decay of either kind.
struct ScalarAdam {
  double weight, first = 0.0, second = 0.0;

  void step(double gradient, const OptimizerConfig& c, int64_t t) {
    const double g = gradient + (c.kind == OptimizerKind::adam ? c.weight_decay * weight : 0.0);
    first = c.beta1 * first + (1.0 - c.beta1) * g;
    second = c.beta2 * second + (1.0 - c.beta2) * g * g;
    const double corrected = first / (1.0 - std::pow(c.beta1, static_cast<double>(t)));
    const double spread = std::sqrt(second / (1.0 - std::pow(c.beta2, static_cast<double>(t))));
    const bool decays =
        c.kind == OptimizerKind::adamw && (c.cautious_decay == CautiousDecay::no || first * weight >= 0.0);
    const double decay = decays ? kRate * c.weight_decay * weight : 0.0;
    weight -= decay + kRate * corrected / (spread + c.epsilon);
  }
};

// Two parameters whose gradients are set by hand.
class Optimizing : public ::testing::Test {
 protected:
  void start(Backend& backend, DType storage) {
    weights_.add("a", {3, 5}, WeightUse::product, Initialization::normal(1.0));
    weights_.add("b", {7}, WeightUse::vector, Initialization::normal(1.0));
    trainables_.emplace(backend, weights_, storage);
    trainables_->initialize(backend, 1);
  }
  // Returns the norm of all gradients together.
  double set_gradients(Backend& backend, uint64_t update, double deviation) {
    double squared = 0.0;
    for (const Weight& weight : weights_.all()) {
      const View gradient = weight.trainable().gradient_to_add_to(backend);
      fill_random(gradient, 50 + update * 10 + weight.name().size() + static_cast<uint64_t>(weight.name()[0]),
                  deviation);
      for (const double g : values_of(gradient)) {
        squared += g * g;
      }
    }
    return std::sqrt(squared);
  }
  std::vector<double> masters() const {
    std::vector<double> all;
    for (const Trainable& trainable : trainables_->all()) {
      const std::vector<double> own = values_of(trainable.master());
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  std::vector<double> gradients() const {
    std::vector<double> all;
    for (const Trainable& trainable : trainables_->all()) {
      const std::vector<double> own = values_of(trainable.gradient());
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  Weights weights_;
  std::optional<Trainables> trainables_;
};

TEST_F(Optimizing, AgreesWithAdamOfEveryScalarForBothKindsOfDecayClippedOrNot) {
  const auto backend = make_reference_backend();
  start(*backend, DType::f64);
  const std::vector<double> beginning = masters();
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::adamw}) {
    for (const double max_norm : {0.0, 1.0, 1e6}) {
      trainables_->initialize(*backend, 1);
      const OptimizerConfig config{.kind = kind,
                                   .beta1 = 0.8,
                                   .beta2 = 0.95,
                                   .weight_decay = 0.1,
                                   .decay = DecayedWeights::all,
                                   .max_norm = max_norm};
      Optimizer optimizer(*backend, *trainables_, config);
      std::vector<ScalarAdam> expected;
      for (const double w : beginning) {
        expected.push_back({w});
      }
      for (uint64_t update = 0; update < 5; ++update) {
        const double norm = set_gradients(*backend, update, 2.0);
        const std::vector<double> g = gradients();
        optimizer.update(*backend, kRate);
        EXPECT_NEAR(optimizer.gradient_norm(), norm, 1e-12 * norm);
        const double clip = max_norm > 0.0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0;
        const std::vector<double> found = masters();
        for (size_t i = 0; i < g.size(); ++i) {
          expected[i].step(clip * g[i], config, static_cast<int64_t>(update) + 1);
          ASSERT_NEAR(found[i], expected[i].weight, 1e-12) << "weight " << i << ", update " << update;
        }
      }
      EXPECT_EQ(optimizer.updates(), 5);
    }
  }
}

TEST_F(Optimizing, AnUpdateWithANonFiniteNormChangesNothingAndTheNextWorks) {
  const auto cpu = make_cpu_backend(1);
  start(*cpu, DType::bf16);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    trainables_->initialize(*cpu, 1);
    Optimizer optimizer(*cpu, *trainables_, {}), untroubled(*cpu, *trainables_, {});
    const std::vector<double> before = masters(), copies = values_of(trainables_->copies());
    set_gradients(*cpu, 0, 1.0);
    set(trainables_->find("b").gradient(), 0, 3, bad);
    optimizer.update(*cpu, kRate);
    EXPECT_FALSE(std::isfinite(optimizer.gradient_norm()));
    EXPECT_TRUE(same_bits(masters(), before));
    EXPECT_TRUE(same_bits(values_of(trainables_->copies()), copies));

    set_gradients(*cpu, 1, 1.0);
    optimizer.update(*cpu, kRate);
    EXPECT_TRUE(std::isfinite(optimizer.gradient_norm()));
    EXPECT_FALSE(same_bits(masters(), before));
    for (const double w : masters()) {
      EXPECT_TRUE(std::isfinite(w));
    }
  }
}

// The host does not wait for the norm, so it cannot know: the moments stay as they were, the count goes on.
TEST_F(Optimizing, ASkippedUpdateIsNotCounted) {
  const auto backend = make_reference_backend();
  start(*backend, DType::f64);
  const OptimizerConfig config{.decay = DecayedWeights::all, .max_norm = 0.0};
  Optimizer optimizer(*backend, *trainables_, config);
  const std::vector<double> before = masters();
  set_gradients(*backend, 0, 1.0);
  set(trainables_->find("b").gradient(), 0, 3, std::nan(""));
  optimizer.update(*backend, kRate);
  EXPECT_EQ(optimizer.updates(), 0);
  set_gradients(*backend, 1, 1.0);
  const std::vector<double> g = gradients();
  optimizer.update(*backend, kRate);
  const std::vector<double> found = masters();
  for (size_t i = 0; i < g.size(); ++i) {
    ScalarAdam expected{before[i]};
    expected.step(g[i], config, 1);
    EXPECT_NEAR(found[i], expected.weight, 1e-12) << "weight " << i;
  }
}

TEST_F(Optimizing, RefreshesTheCopiesThatProductsRead) {
  const auto cpu = make_cpu_backend(1);
  start(*cpu, DType::bf16);
  Optimizer optimizer(*cpu, *trainables_, {});
  const std::vector<double> stale = values_of(trainables_->copies());
  set_gradients(*cpu, 0, 1.0);
  optimizer.update(*cpu, kRate);
  EXPECT_NE(values_of(trainables_->copies()), stale);
  const Weight& matrix = weights_.find("a");
  const std::vector<double> exact = values_of(matrix.trainable().master()), copies = values_of(matrix.value().matrix);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(copies[i], static_cast<double>(static_cast<float>(bf16(static_cast<float>(exact[i])))));
  }
}

TEST_F(Optimizing, AParameterThatNothingContributedToOnlyDecays) {
  const auto backend = make_reference_backend();
  start(*backend, DType::f64);
  Optimizer optimizer(*backend, *trainables_, {.weight_decay = 0.5, .decay = DecayedWeights::all});
  const Trainable& b = trainables_->find("b");
  const std::vector<double> before = values_of(b.master());
  backend->fill(trainables_->gradients(), 7.0);  // what is left of an update before
  trainables_->begin_update();
  fill_random(trainables_->find("a").gradient_to_add_to(*backend), 1);
  optimizer.update(*backend, kRate);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(values_of(b.master())[i], before[i] * (1.0 - kRate * 0.5), 1e-15);
  }
}

TEST_F(Optimizing, GainsAndBiasesAreSparedUnlessAllDecay) {
  const auto backend = make_reference_backend();
  start(*backend, DType::f64);
  trainables_->begin_update();  // nothing contributes: only decay moves a weight
  const std::vector<double> matrix = values_of(trainables_->find("a").master());
  const std::vector<double> vector = values_of(trainables_->find("b").master());
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::muon}) {
    for (const DecayedWeights decay : {DecayedWeights::matrices, DecayedWeights::all}) {
      trainables_->initialize(*backend, 1);
      Optimizer optimizer(*backend, *trainables_, {.kind = kind, .weight_decay = 0.5, .decay = decay});
      optimizer.update(*backend, kRate);
      EXPECT_NE(values_of(trainables_->find("a").master()), matrix);
      const bool spared = values_of(trainables_->find("b").master()) == vector;
      EXPECT_EQ(spared, decay == DecayedWeights::matrices) << static_cast<int>(kind);
    }
  }
}

TEST_F(Optimizing, CautiousDecayAgreesWithOneScalarAtATime) {
  const auto backend = make_reference_backend();
  start(*backend, DType::f64);
  const std::vector<double> beginning = masters();
  const OptimizerConfig config{.weight_decay = 0.5, .cautious_decay = CautiousDecay::yes, .max_norm = 0.0};
  Optimizer optimizer(*backend, *trainables_, config);
  std::vector<ScalarAdam> expected;
  for (const double w : beginning) {
    expected.push_back({w});
  }
  for (uint64_t update = 0; update < 5; ++update) {
    set_gradients(*backend, update, 2.0);
    const std::vector<double> g = gradients();
    optimizer.update(*backend, kRate);
    for (size_t i = 0; i < g.size(); ++i) {
      expected[i].step(g[i], config, static_cast<int64_t>(update) + 1);
      ASSERT_NEAR(masters()[i], expected[i].weight, 1e-12) << "weight " << i << ", update " << update;
    }
  }
}

// Against its direction a matrix goes as it would without decay, along it as it would with all of it.
TEST_F(Optimizing, CautiousDecayOfMuonChoosesForEachElement) {
  const auto backend = make_reference_backend();
  Weights weights;
  weights.add("w", {3, 5}, WeightUse::product, Initialization::normal(1.0), {},
              {.place = {}, .roles = {{WeightRole::up}}});
  Trainables trainables(*backend, weights, DType::f64);
  const auto updated = [&](double decay, CautiousDecay cautious) {
    trainables.initialize(*backend, 1);
    fill_random(weights.all().front().trainable().gradient_to_add_to(*backend), 3, 2.0);
    Optimizer optimizer(*backend, trainables,
                        {.kind = OptimizerKind::muon, .weight_decay = decay, .cautious_decay = cautious});
    optimizer.update(*backend, kRate);
    return values_of(trainables.all().front().master());
  };
  trainables.initialize(*backend, 1);
  const std::vector<double> before = values_of(trainables.all().front().master());
  const std::vector<double> plain = updated(0.0, CautiousDecay::no), decayed = updated(0.5, CautiousDecay::no);
  const std::vector<double> cautious = updated(0.5, CautiousDecay::yes);
  int64_t spared = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const bool shrinks = (before[i] - plain[i]) * before[i] > 0.0;
    EXPECT_EQ(cautious[i], shrinks ? decayed[i] : plain[i]) << i;
    spared += shrinks ? 0 : 1;
  }
  EXPECT_GT(spared, 2);
  EXPECT_LT(spared, 13);
}

TEST_F(Optimizing, RefusesSettingsOutsideTheirRange) {
  const auto backend = make_reference_backend();
  start(*backend, DType::f64);
  const auto refuse = [&](const OptimizerConfig& config, const std::vector<std::string>& parts) {
    expect_error<ConfigError>([&] { Optimizer(*backend, *trainables_, config); }, parts);
  };
  refuse({.beta1 = 1.0}, {"optimizer: ", "beta1 is 1 and beta2 0.999", "below 1"});
  refuse({.beta2 = -0.1}, {"beta1 is 0.9 and beta2 -0.1"});
  refuse({.epsilon = 0.0}, {"epsilon is 0", "above 0"});
  refuse({.max_norm = -1.0}, {"clip is -1"});
  refuse({.weight_decay = -0.5}, {"weight_decay -0.5"});
  refuse({.epsilon = std::nan("")}, {"epsilon is nan"});
  refuse({.kind = OptimizerKind::muon, .row_moments = 1.0}, {"row_moments is 1", "below 1"});
  refuse({.row_moments = 0.9}, {"row_moments are for", "adamw"});
  refuse({.kind = OptimizerKind::adam, .cautious_decay = CautiousDecay::yes}, {"cautious_decay is for", "muon"});
}

}  // namespace
}  // namespace heed::test
