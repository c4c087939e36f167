// Longer runs on several ranks, which are threads here. With sanitizers they would take minutes: those builds have the
// shorter runs of *_threads_test.cpp.
#include "train/learner/local_updates_testing.h"
#include "train/learner/parts_training_testing.h"
#include "train/learner/stages_training_testing.h"

namespace heed::test {
namespace {

TEST_F(RanksTraining, ATranslationModelGetsTheSameBits) {
  Recipe recipe = in_shards(small_recipe());
  recipe.model.inner = 4608;  // matrices of several slices
  recipe.training.precision = Precision::f32;
  expect_same_bits(recipe, "large");
}

TEST_F(StagesTraining, ATranslationModelGetsTheSameBits) {
  Recipe recipe = in_shards(small_recipe());
  recipe.training.precision = Precision::f32;
  expect_same_bits(recipe, "tied", {{"pipeline=2", 2}, {"pipeline=3", 3}, {"data=3,pipeline=2", 6}});
  recipe.model.tying = Tying::none;
  recipe.training.precision = Precision::bf16;
  expect_same_bits(recipe, "untied", {{"pipeline=3", 3}, {"data=2,pipeline=2", 4}});
}

TEST_F(PartsTraining, ATranslationModelEndsWithinRoundingOfOneRank) {
  Recipe recipe = in_shards(small_recipe());
  expect_same(recipe, "tied",
              {{"tensor=2", 2}, {"data=2,tensor=2", 4}, {"pipeline=2,tensor=2", 4}, {"data=2,pipeline=2,tensor=2", 8}});
  recipe.model.tying = Tying::none;
  expect_same(recipe, "untied", {{"data=2,pipeline=2,tensor=2", 8}});
}

TEST_F(PartsTraining, TheSameRunGivesTheSameBitsAndGoesOnFromWhereItStopped) {
  const Recipe recipe = in_shards(small_recipe());
  train_as("data=2,tensor=2", 4, recipe, "unbroken");
  train_as("tensor=2", 2, recipe, "one-copy");
  EXPECT_EQ(weights("one-copy"), weights("unbroken"));  // copies of the parts change no bit, and stages don't
  train_as("pipeline=2,tensor=2", 4, recipe, "stages");
  EXPECT_EQ(weights("stages"), weights("unbroken"));
  train_as("data=2,pipeline=2,tensor=2", 8, recipe, "all");
  EXPECT_EQ(weights("all"), weights("unbroken"));
  listening_.asked = 0;
  listening_.stop_after = 7;
  EXPECT_EQ(train_as("tensor=2", 2, recipe, "stopped"), EndReason::stopped);
  listening_.stop_after = -1;
  EXPECT_EQ(train_as("data=2,tensor=2", 4, recipe, "stopped", TrainStart::resume), EndReason::updates);
  EXPECT_EQ(weights("stopped"), weights("unbroken"));
}

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

}  // namespace
}  // namespace heed::test
