// Training on several ranks, which are threads here: the bits are those of one rank.
#include <gmock/gmock.h>

#include "ops/op_testing.h"
#include "train/learner/ranks_training_testing.h"

namespace heed::test {
namespace {

using testing::HasSubstr;

TEST_F(RanksTraining, ALanguageModelGetsTheSameBits) {
  Recipe recipe = in_shards(text_recipe());
  recipe.training.precision = Precision::bf16;
  expect_same_bits(recipe, "plain");
  recipe.model.recompute = Recompute::layers;
  recipe.checkpoints.moving_average = 0.0;
  expect_same_bits(recipe, "recomputed");
  EXPECT_NE(weights("plain-1"), weights("recomputed-1")) << "without an average of all updates";
}

TEST_F(RanksTraining, MuonGetsTheSameBits) {
  Recipe recipe = in_shards(small_recipe());
  recipe.optimizer.kind = OptimizerKind::muon;
  expect_same_bits(recipe, "muon");
}

TEST_F(RanksTraining, GradientsThatTravelInBf16AreSummedAlike) {
  Recipe recipe = in_shards(small_recipe());
  train(recipe, "exact");
  recipe.training.gradients = WireType::bf16;
  expect_same_bits(recipe, "rounded");
  EXPECT_NE(weights("rounded-1"), weights("exact"));
}

TEST_F(RanksTraining, ARunGoesOnWithAnotherNumberOfRanks) {
  Recipe recipe = in_shards(small_recipe());
  recipe.training.precision = Precision::bf16;
  train(recipe, "unbroken");
  for (const Break& run : std::vector<Break>{{1, 4, 7}, {4, 1, 8}, {2, 3, 13}}) {
    expect_bits_after(run, recipe, [this](auto... what) { return train_on(what...); });
  }
}

TEST_F(RanksTraining, AnUpdateWithTooFewShardsIsRefused) {
  Recipe recipe = small_recipe();
  recipe.training.accumulate = 2;
  expect_error<ConfigError>([&] { train_on(3, recipe, "refused"); },
                            {"2 shards", "3 ranks", "training.shards to a multiple of 6"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
}

TEST_F(RanksTraining, ARankWithAnotherRecipeOrTextIsNamed) {
  const Recipe recipe = in_shards(small_recipe());
  const auto train_with = [&](const std::string& name, const Recipe& of_second) {
    run_thread_ranks(2, [&](Transport& transport) {
      const Ranks ranks(transport);
      Listening quiet;
      const auto backend = make_cpu_backend(1);
      Trainer(*backend, ranks.is_first() ? recipe : of_second, {folder_ / name}, TrainStart::fresh, quiet, ranks).run();
    });
  };
  Recipe other = recipe;
  other.schedule.peak = 1e-3;
  expect_error<RankError>([&] { train_with("recipe", other); }, {"rank 1 of 2", "recipe"});
  const std::string text = read_file(folder_ / "train.de");
  write_file(folder_ / "other.de", "x" + text);
  other = recipe;
  task(other).data.train_source = {file("other.de")};
  expect_error<RankError>([&] { train_with("text", other); }, {"rank 1 of 2"});
  // Nothing is left behind that would have to be removed before the next try.
  EXPECT_FALSE(std::filesystem::exists(folder_ / "recipe"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "text"));
}

}  // namespace
}  // namespace heed::test
