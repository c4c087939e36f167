// Training of a model whose matrices ranks divide, on ranks that are threads here: it ends where one rank ends, but for
// rounding, and its files are those of one rank.
#include <gmock/gmock.h>

#include "ops/op_testing.h"
#include "train/learner/parts_training_testing.h"
#include "train/recipe/labeled_recipe.h"
#include "train/recipe/masked_model_recipe.h"

namespace heed::test {
namespace {

TEST_F(PartsTraining, ALanguageModelEndsWithinRoundingOfOneRank) {
  Recipe recipe = in_shards(text_recipe());
  recipe.model.head_norm = HeadNorm::each_head;
  recipe.model.recompute = Recompute::layers;
  recipe.model.bigrams = 30;
  text(recipe).ahead.weights = {0.5};
  expect_same(recipe, "heads", {{"data=2,tensor=2", 4}, {"pipeline=2,tensor=2", 4}});
}

TEST_F(PartsTraining, AMaskedModelEndsWithinRoundingOfOneRank) {
  const Recipe causal = in_shards(text_recipe());
  Recipe recipe = causal;
  recipe.task = default_recipe(task_named("masked-lm")).task;
  recipe.training.task = "masked-lm";
  recipe.model.architecture = Architecture::encoder;
  recipe.model.encoder_layers = 2;
  auto& masked = recipe.of<MaskedModelRecipe>();
  masked.data = causal.of<LanguageModelRecipe>().data;
  masked.data.documents = Documents::lines;
  masked.tokenizer = causal.of<LanguageModelRecipe>().tokenizer;
  expect_same(recipe, "masked", {{"tensor=2", 2}, {"data=2,pipeline=2,tensor=2", 8}});
}

TEST_F(PartsTraining, AClassifierEndsWithinRoundingOfOneRank) {
  std::string lines;
  for (const ReversedSentence& pair : reversed_sentences("train", 60)) {
    lines += pair.source + (pair.source.find('a') == std::string::npos ? "\tno\n" : "\tyes\n");
  }
  write_file(folder_ / "train.tsv", lines);
  Recipe recipe = in_shards(default_recipe(task_named("classify")));
  recipe.model.model = 32;
  recipe.model.inner = 64;
  recipe.model.encoder_layers = 2;
  recipe.model.max_length = 64;
  auto& classify = recipe.of<ClassifyRecipe>();
  classify.data.train = classify.data.validation = {file("train.tsv")};
  classify.data.batch_sequences = 8;
  classify.tokenizer.learned.kind = TokenizerKind::character;
  classify.tokenizer.learned.vocabulary = 0;
  recipe.schedule = {.peak = 5e-3, .warmup = 10};
  recipe.training.updates = 16;
  recipe.validation.every = 8;
  expect_same(recipe, "classify", {{"tensor=2", 2}, {"data=2,pipeline=2,tensor=2", 8}});
}

TEST_F(PartsTraining, ARunGoesOnWithAnotherLayout) {
  const Recipe recipe = in_shards(small_recipe());
  train(recipe, "whole");
  for (const std::string first : {"", "tensor=2"}) {
    const std::string name = "from-" + first, then = first.empty() ? "tensor=2" : "";
    listening_.asked = 0;
    listening_.stop_after = 9;
    EXPECT_EQ(train_as(first, first.empty() ? 1 : 2, recipe, name), EndReason::stopped);
    listening_.stop_after = -1;
    EXPECT_EQ(train_as(then, then.empty() ? 1 : 2, recipe, name, TrainStart::resume), EndReason::updates);
    EXPECT_LT(distance(name, "whole"), kTolerance) << name;
  }
}

TEST_F(PartsTraining, WhatDoesNotGoWithPartsIsRefused) {
  const auto refused = [&](int ranks, const std::string& layout, const std::string& words, auto change) {
    Recipe recipe = in_shards(small_recipe());
    recipe.training.layout = layout;
    change(recipe);
    expect_error<ConfigError>(
        [&] {
          run_thread_ranks(ranks, [&](Transport& transport) {
            Listening quiet;
            const auto backend = make_cpu_backend(1);
            Trainer(*backend, recipe, {folder_ / "refused"}, TrainStart::fresh, quiet, Ranks(transport)).run();
          });
        },
        {words});
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
  };
  const auto nothing = [](Recipe&) {};
  refused(3, "tensor=3", "tensor 3 does not divide 2 heads", nothing);
  refused(2, "tensor=2", "does not go with optimizer.kind = \"muon\"",
          [](Recipe& recipe) { recipe.optimizer.kind = OptimizerKind::muon; });
  refused(2, "tensor=2", "does not go with training.freeze",
          [](Recipe& recipe) { recipe.training.freeze = {"encoder.*"}; });
  refused(2, "tensor=2", "does not go with training.from", [](Recipe& recipe) { recipe.training.from = "elsewhere"; });
}

}  // namespace
}  // namespace heed::test
