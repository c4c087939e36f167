// Training of a model in stages, on ranks that are threads here: the bits are those of one rank.
#include <gmock/gmock.h>

#include "ops/op_testing.h"
#include "train/learner/stages_training_testing.h"

namespace heed::test {
namespace {

TEST_F(StagesTraining, ALanguageModelGetsTheSameBits) {
  Recipe recipe = in_shards(text_recipe());
  recipe.training.precision = Precision::bf16;
  recipe.model.tying = Tying::output;
  recipe.model.recompute = Recompute::layers;
  recipe.optimizer.kind = OptimizerKind::muon;
  expect_same_bits(recipe, "muon", {{"pipeline=2", 2}, {"data=2,pipeline=3", 6}});
  recipe.training.gradients = WireType::bf16;
  expect_same_bits(recipe, "rounded", {{"pipeline=3", 3}, {"data=3,pipeline=2", 6}});
}

TEST_F(StagesTraining, ARunGoesOnWithAnotherLayout) {
  Recipe recipe = in_shards(small_recipe());
  recipe.training.precision = Precision::bf16;
  recipe.training.freeze = {"encoder.layers.0.*"};
  train(recipe, "unbroken");
  for (const Break& run : std::vector<Break>{{1, 2, 7}, {3, 1, 8}, {2, 3, 13}}) {
    expect_bits_after(run, recipe, [this](auto... what) { return train_in_stages(what...); });
  }
}

// Copies of stages, with a shard for each, or some of them without one in the last round.
TEST_F(StagesTraining, ARunInCopiesOfStagesGoesOnWithAnotherLayout) {
  Recipe recipe = in_shards(small_recipe());
  recipe.training.precision = Precision::bf16;
  train(recipe, "unbroken");
  listening_.asked = 0;
  listening_.stop_after = 7;
  EXPECT_EQ(train_as("data=2,pipeline=2", 4, recipe, "stopped"), EndReason::stopped);
  listening_.asked = 0;
  EXPECT_EQ(train_as("data=3,pipeline=2", 6, recipe, "stopped", TrainStart::resume), EndReason::stopped);
  listening_.stop_after = -1;
  EXPECT_EQ(train_as("data=2", 2, recipe, "stopped", TrainStart::resume), EndReason::updates);
  EXPECT_EQ(weights("stopped"), weights("unbroken"));
}

TEST_F(StagesTraining, LayoutsThatCannotBeAreRefused) {
  const auto refused = [&](int ranks, const std::string& layout, const std::vector<std::string>& words) {
    Recipe recipe = in_shards(small_recipe());
    recipe.training.layout = layout;
    expect_error<ConfigError>(
        [&] {
          run_thread_ranks(ranks, [&](Transport& transport) {
            Listening quiet;
            const auto backend = make_cpu_backend(1);
            Trainer(*backend, recipe, {folder_ / "refused"}, TrainStart::fresh, quiet, Ranks(transport)).run();
          });
        },
        words);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
  };
  refused(1, "pipeline=2", {"training.layout", "pipeline=2,tensor=1 needs 2 ranks, but there is 1"});
  refused(7, "pipeline=7", {"pipeline is 7, but the model has only 6 layers"});
  refused(10, "data=5,pipeline=2", {"an update has 4 shards, which is too few for 5"});
  refused(1, "pipeline=x", {"training.layout", "'pipeline=x' is not a name and a number"});
}

}  // namespace
}  // namespace heed::test
