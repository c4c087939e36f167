// Training of a model whose matrices ranks divide, on ranks that are threads here: it ends where one rank ends, but for
// rounding, and its files are those of one rank.
#include <gmock/gmock.h>

#include "checkpoint/weights.h"
#include "ops/op_testing.h"
#include "train/labeled_recipe.h"
#include "train/masked_model_recipe.h"
#include "train/ranks_training_testing.h"

namespace heed::test {
namespace {

class PartsTraining : public RanksTrainingTest {
 protected:
  std::vector<float> all_weights(const std::string& name) const {
    const SafeTensors file(folder_ / name / "model.safetensors");
    std::vector<float> values;
    for (const StoredTensor& tensor : file.tensors()) {
      const std::vector<float> own = read_weight(file, tensor);
      values.insert(values.end(), own.begin(), own.end());
    }
    return values;
  }

  // Relative to the weights' own size.
  double distance(const std::string& name, const std::string& other) const {
    const std::vector<float> a = all_weights(name), b = all_weights(other);
    EXPECT_EQ(a.size(), b.size());
    double difference = 0.0, size = 0.0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      difference += static_cast<double>((a[i] - b[i]) * (a[i] - b[i]));
      size += static_cast<double>(a[i] * a[i]);
    }
    return std::sqrt(difference / size);
  }

  Recipe in_shards(Recipe recipe) const {
    recipe.model.heads = 2;
    recipe.training.accumulate = 2;
    recipe.training.shards = 4;
    recipe.training.precision = Precision::f32;
    recipe.checkpoints.moving_average = 0.9;
    recipe.checkpoints.final_weights = FinalWeights::average_of_last;
    return recipe;
  }

  static constexpr double kTolerance = 1e-3;
  using Layouts = std::vector<std::pair<std::string, int>>;

  void expect_same(const Recipe& recipe, const std::string& name, const Layouts& layouts) {
    train(recipe, name);
    const auto validations = listening_.validations;
    for (const auto& [layout, ranks] : layouts) {
      const std::string other = name + "-" + layout;
      listening_.validations.clear();
      EXPECT_EQ(train_as(layout, ranks, recipe, other), EndReason::updates);
      EXPECT_EQ(trained_share_, 1.0) << layout;
      EXPECT_LT(distance(other, name), kTolerance) << layout;
      ASSERT_EQ(listening_.validations.size(), validations.size());
      for (size_t i = 0; i < validations.size(); ++i) {
        const double loss = validations[i].scores.loss;
        EXPECT_NEAR(listening_.validations[i].scores.loss, loss, kTolerance * loss) << layout;
      }
    }
    listening_.validations.clear();
  }
};

TEST_F(PartsTraining, ATranslationModelEndsWithinRoundingOfOneRank) {
  Recipe recipe = in_shards(small_recipe());
  expect_same(recipe, "tied",
              {{"tensor=2", 2}, {"data=2,tensor=2", 4}, {"pipeline=2,tensor=2", 4}, {"data=2,pipeline=2,tensor=2", 8}});
  recipe.model.tying = Tying::none;
  expect_same(recipe, "untied", {{"data=2,pipeline=2,tensor=2", 8}});
}

TEST_F(PartsTraining, ALanguageModelEndsWithinRoundingOfOneRank) {
  Recipe recipe = in_shards(text_recipe());
  recipe.model.head_norm = HeadNorm::each_head;
  recipe.model.keep = Keep::layer_inputs;
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
