#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/reference_backend.h"
#include "models/model_testing.h"
#include "train/tasks/conversation/preference_loss.h"

namespace heed::test {
namespace {

constexpr double kBeta = 0.3;

// Two pairs; one token of each text is only read.
PreferenceBatch two_preferences() {
  const TokenLists texts{{1, 2, 3}, {1, 2, 4, 5}, {6, 7}, {6, 8, 9}};
  const Targets expected({-1, 3, 0, -1, 4, 5, 0, 7, 0, 8, -1, 9});
  return {.texts = {Sequences(texts), expected}, .reference_margins = {0.7, -1.1}};
}

struct PreferenceModel {
  explicit PreferenceModel(const ModelConfig& config) : test(*backend, DType::f64, config) {}

  // Under the dropout of backward().
  double training_loss(const PreferenceBatch& batch) {
    Tape tape;
    return loss(Pass::train(*backend, DType::f64, tape, RandomKey{5}).unrecorded(), batch);
  }
  double loss(Pass pass, const PreferenceBatch& batch) {
    const Hidden hidden = test.causal_lm().hidden(pass, batch.texts.tokens);
    return preference_loss(pass, test.causal_lm(), hidden, batch, kBeta).total_smoothed();
  }
  void backward(const PreferenceBatch& batch, double scale) {
    test.trainables().begin_update();
    Tape tape(scale);
    Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{5});
    const PreferenceShard shard(batch, kBeta);
    shard.loss(pass, test.model(), Smoothing(0.0F));
    tape.backward(*backend);
    test.trainables().finish_update(*backend);
  }

  std::unique_ptr<Backend> backend = make_reference_backend();
  TestModel test;
};

std::vector<ModelConfig> preference_models() {
  ModelConfig tied = small_config(Architecture::causal_lm), capped = tied;
  tied.tying = Tying::output;
  tied.recompute = Recompute::layers;
  capped.logit_cap = 2.0;
  return {small_config(Architecture::causal_lm), tied, capped};
}

TEST(PreferenceLoss, HasTheGradientsThatDifferencesShow) {
  constexpr double kScale = 0.25;
  for (const ModelConfig& config : preference_models()) {
    PreferenceModel model(config);
    const PreferenceBatch batch = two_preferences();
    model.backward(batch, kScale);
    expect_gradients_of(model.test, kScale, [&] { return model.training_loss(batch); });
  }
}

TEST(PreferenceLoss, IsThatOfItsFormula) {
  PreferenceModel model(small_config(Architecture::causal_lm));
  const PreferenceBatch batch = two_preferences();
  Pass pass = Pass::infer(*model.backend, DType::f64);
  const TokenLosses tokens = model.test.causal_lm().loss(pass, batch.texts, Smoothing(0.0F));
  const auto sum = [&](int64_t begin, int64_t end) {
    double log_probability = 0.0;
    for (int64_t row = begin; row < end; ++row) {
      log_probability -= tokens.negative_log_likelihood(row);
    }
    return log_probability;
  };
  const double first = kBeta * (sum(0, 3) - sum(3, 7) - 0.7), second = kBeta * (sum(7, 9) - sum(9, 12) + 1.1);
  EXPECT_NEAR(model.loss(pass, batch), std::log1p(std::exp(-first)) + std::log1p(std::exp(-second)), 1e-12);
}

TEST(PreferenceLoss, OfLargeMarginsIsFinite) {
  EXPECT_DOUBLE_EQ(preference_loss_of(0.0), std::log(2.0));
  EXPECT_DOUBLE_EQ(preference_loss_of(-2000.0), 2000.0);
  EXPECT_DOUBLE_EQ(preference_loss_of(2000.0), 0.0);
}

}  // namespace
}  // namespace heed::test
