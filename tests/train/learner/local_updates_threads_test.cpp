// Ranks that train independently between outer steps; they are threads here.
#include "ops/op_testing.h"
#include "train/learner/local_updates_testing.h"

namespace heed::test {
namespace {

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

TEST_F(LocalUpdates, AreRefusedWhereTheModelIsDivided) {
  Recipe recipe = local_recipe();
  recipe.training.layout = "pipeline=2";
  expect_error<ConfigError>([&] { train_on(2, recipe, "refused"); }, {"training.layout", "training.local_updates"});
}

}  // namespace
}  // namespace heed::test
