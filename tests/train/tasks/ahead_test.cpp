#include <gtest/gtest.h>

#include "kernels/reference/reference_backend.h"
#include "models/model_testing.h"
#include "train/tasks/text_task.h"

namespace heed::test {
namespace {

constexpr Smoothing kSmoothing{0.1F};
constexpr double kNear = 0.5, kFar = 0.2;

struct AheadModel {
  explicit AheadModel(const ModelConfig& config) : test(*backend, DType::f64, config) {}

  // Under the dropout of backward().
  double loss(const Targets& expected) {
    Tape tape;
    Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{5}).unrecorded();
    return test.causal_lm().loss(pass, test.causal_lm().hidden(pass, tokens), expected, kSmoothing).total_smoothed();
  }

  const Sequences tokens{TokenLists{{1, 2, 3, 4}, {5, 6}, {7, 8, 9}}};
  // What follows each token, then what follows that, as far as the sequence goes.
  const Targets next = Targets({2, 3, 4, 0, Targets::kIgnored, 5, 8, 9, 1});
  const Targets second = Targets({3, 4, 0, -1, 5, -1, 9, 1, -1});
  const Targets third = Targets({4, 0, -1, -1, -1, -1, 1, -1, -1});
  std::unique_ptr<Backend> backend = make_reference_backend();
  TestModel test;
};

void expect_gradients_of_later_tokens(const ModelConfig& config) {
  AheadModel model(config);
  const CausalShard shard({model.tokens, model.next}, std::vector{kNear, kFar});
  model.test.trainables().begin_update();
  Tape tape(0.7);
  Pass pass = Pass::train(*model.backend, DType::f64, tape, RandomKey{5});
  const double loss = shard.loss(pass, model.test.model(), kSmoothing).total_smoothed();
  tape.backward(*model.backend);
  model.test.trainables().finish_update(*model.backend);

  EXPECT_EQ(shard.targets(), 8);
  EXPECT_EQ(loss, model.loss(model.next)) << "what is reported is the loss of the next token alone";
  expect_gradients_of(model.test, 0.7, [&] {
    return model.loss(model.next) + kNear * model.loss(model.second) + kFar * model.loss(model.third);
  });
}

TEST(CausalShard, GradientsAreThoseOfTheLossesOfLaterTokensToo) {
  ModelConfig plain = small_config(Architecture::causal_lm), tied = plain, narrow = plain;
  tied.tying = Tying::output;
  tied.logit_cap = 2.0;
  narrow.embedding_width = 4;
  narrow.positions = Positions::learned;
  for (const ModelConfig& config : {plain, tied, narrow}) {
    expect_gradients_of_later_tokens(config);
  }
}

}  // namespace
}  // namespace heed::test
