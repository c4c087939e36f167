// Ranks that train independently between outer steps; they are threads here.
#include "ops/op_testing.h"
#include "train/ranks_training_testing.h"

namespace heed::test {
namespace {

class LocalUpdates : public RanksTrainingTest {
 protected:
  Recipe local_recipe() const {
    Recipe recipe = text_recipe();
    recipe.training.accumulate = 2;
    recipe.training.shards = 4;
    recipe.training.local_updates = 4;
    recipe.checkpoints.moving_average = 0.9;
    recipe.checkpoints.final_weights = FinalWeights::last;
    return recipe;
  }

  double last_loss() const { return listening_.validations.back().scores.loss; }
};

TEST_F(LocalUpdates, LearnAlmostAsMuchAsRanksThatExchangeEachUpdate) {
  Recipe recipe = local_recipe();
  recipe.training.updates = 200;
  recipe.validation.every = 100;
  recipe.checkpoints.moving_average = 0.0;
  recipe.training.local_updates = 10;
  train_on(2, recipe, "local");
  const double local = last_loss();
  const int64_t sent = sent_;
  recipe.training.local_updates = 0;
  train_on(2, recipe, "synchronous");
  EXPECT_LT(local, last_loss() + 0.1);
  EXPECT_LT(static_cast<double>(sent), 0.2 * static_cast<double>(sent_)) << "about a tenth, and reports";
}

TEST_F(LocalUpdates, ReportAndValidateOnlyWhenAllRanksHaveTheSameWeights) {
  Recipe recipe = local_recipe();
  recipe.training.log_every = 3;
  recipe.validation.every = 6;
  recipe.training.updates = 22;
  train_on(2, recipe, "run");
  const auto updates = [](const auto& events) {
    std::vector<int64_t> all;
    for (const auto& event : events) {
      all.push_back(event.update);
    }
    return all;
  };
  EXPECT_EQ(updates(listening_.progress), (std::vector<int64_t>{4, 8, 12, 16, 20, 22}));
  EXPECT_EQ(updates(listening_.validations), (std::vector<int64_t>{8, 12, 20, 22}));
}

TEST_F(LocalUpdates, Int8SendsAQuarterAndLearnsAsMuch) {
  Recipe recipe = local_recipe();
  recipe.training.updates = 200;
  recipe.validation.every = 100;
  train_on(2, recipe, "f32");
  const double loss = last_loss();
  const int64_t sent = sent_;
  recipe.training.gradients = WireType::int8;
  train_on(2, recipe, "int8");
  EXPECT_NEAR(last_loss(), loss, 0.05);
  EXPECT_LT(static_cast<double>(sent_), 0.35 * static_cast<double>(sent)) << "a quarter, and reports";
}

TEST_F(LocalUpdates, ARunThatIsResumedGivesTheSameBits) {
  for (const int ranks : {1, 2, 3}) {
    Recipe recipe = local_recipe();
    recipe.training.gradients = ranks == 3 ? WireType::int8 : WireType::f32;
    const std::string name = fmt::format("{}-ranks", ranks);
    train_on(ranks, recipe, name);
    listening_.asked = 0;
    listening_.stop_after = 2;  // outer steps
    EXPECT_EQ(train_on(ranks, recipe, name + "-stopped"), EndReason::stopped);
    listening_.stop_after = -1;
    EXPECT_EQ(train_on(ranks, recipe, name + "-stopped", TrainStart::resume), EndReason::updates);
    EXPECT_EQ(weights(name + "-stopped"), weights(name)) << ranks;
  }
}

TEST_F(LocalUpdates, RanksMayLeaveAndComeBackWhenARunIsResumed) {
  Recipe recipe = local_recipe();
  recipe.training.updates = 8;
  train_on(3, recipe, "run");
  recipe.training.updates = 16;
  EXPECT_EQ(train_on(2, recipe, "run", TrainStart::resume), EndReason::updates);
  recipe.training.updates = 200;
  EXPECT_EQ(train_on(4, recipe, "run", TrainStart::resume), EndReason::updates);
  EXPECT_LT(last_loss(), 1.8);  // 2.3 for letters at random
}

TEST_F(LocalUpdates, AreRefusedWhereTheModelIsDivided) {
  Recipe recipe = local_recipe();
  recipe.training.layout = "pipeline=2";
  expect_error<ConfigError>([&] { train_on(2, recipe, "refused"); }, {"training.layout", "training.local_updates"});
}

}  // namespace
}  // namespace heed::test
