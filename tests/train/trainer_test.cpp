#include "train/trainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checkpoint/safetensors.h"
#include "train/training_testing.h"

namespace heed::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Training : public TrainingTest {
 protected:
  std::vector<json> metrics(const std::string& name) const {
    std::vector<json> events;
    std::istringstream lines(read_file(folder_ / name / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      events.push_back(json::parse(line));
    }
    return events;
  }
};

TEST_F(Training, TheSameRunGivesTheSameBits) {
  train(small_recipe(), "a");
  train(small_recipe(), "b");
  EXPECT_EQ(weights("a"), weights("b"));
  Recipe other = small_recipe();
  other.training.seed = 2;
  train(other, "c");
  EXPECT_NE(weights("a"), weights("c"));
}

TEST_F(Training, AStoppedRunGoesOnToTheSameBits) {
  Recipe recipe = small_recipe();
  recipe.checkpoints.moving_average = 0.9;
  recipe.checkpoints.final_weights = FinalWeights::average_of_last;
  recipe.training.accumulate = 2;
  for (const auto& [every, stop] : std::vector<std::pair<int64_t, int64_t>>{{8, 1}, {8, 7}, {8, 8}, {0, 7}, {0, 23}}) {
    SCOPED_TRACE(fmt::format("validated every {}, stopped after {}", every, stop));
    recipe.validation.every = every;
    const std::string unbroken = fmt::format("unbroken-{}-{}", every, stop);
    train(recipe, unbroken);
    const std::string name = fmt::format("stopped-{}-{}", every, stop);
    listening_.asked = 0;
    listening_.stop_after = stop;
    EXPECT_EQ(train(recipe, name), EndReason::stopped);
    listening_.stop_after = -1;
    EXPECT_EQ(train(recipe, name, Start::resume), EndReason::updates);
    EXPECT_EQ(weights(name), weights(unbroken));
    std::vector<json> expected = metrics(unbroken), found = metrics(name);
    const auto validations = [](std::vector<json> events) {
      std::erase_if(events, [](const json& event) { return event.at("event") != "validation"; });
      for (json& event : events) {
        event.erase("seconds");
      }
      return events;
    };
    EXPECT_EQ(validations(found), validations(expected));
  }
}

TEST_F(Training, ALimitMayBeRaisedLater) {
  Recipe recipe = small_recipe();
  train(recipe, "unbroken");
  recipe.training.updates = 16;
  train(recipe, "shorter");
  recipe.training.updates = 24;
  EXPECT_EQ(train(recipe, "shorter", Start::resume), EndReason::updates);
  EXPECT_EQ(weights("shorter"), weights("unbroken"));
}

TEST_F(Training, EndsByItsLimits) {
  Recipe recipe = small_recipe();
  recipe.training.updates = 0;
  recipe.training.epochs = 2;
  recipe.validation.every = 0;
  EXPECT_EQ(train(recipe, "epochs"), EndReason::epochs);
  EXPECT_EQ(listening_.validations.size(), 2U) << "one after each epoch";
  recipe.training.epochs = 0;
  recipe.schedule.peak = 1e-12;
  recipe.validation.patience = 2;
  recipe.validation.best_by = BestBy::loss;
  EXPECT_EQ(train(recipe, "patience"), EndReason::patience);
  recipe.validation.patience = 0;
  recipe.training.minutes = 1e-6;
  EXPECT_EQ(train(recipe, "minutes"), EndReason::minutes);
}

TEST_F(Training, FinalWeightsAreWhatTheRecipeAsksFor) {
  Recipe recipe = small_recipe();
  recipe.checkpoints.final_weights = FinalWeights::last;
  train(recipe, "last");
  recipe.checkpoints.final_weights = FinalWeights::average_of_last;
  recipe.checkpoints.average = 2;
  train(recipe, "average");
  recipe.checkpoints.average = 1;
  train(recipe, "average-of-one");
  EXPECT_EQ(SafeTensors(folder_ / "average" / "model.safetensors").metadata().at("updates"), "24,16");
  const auto tensors = [&](const std::string& run) { return weights(run).substr(weights(run).find("}}") + 2); };
  EXPECT_EQ(tensors("last"), tensors("average-of-one"));
  EXPECT_NE(tensors("last"), tensors("average"));
  recipe.checkpoints.moving_average = 0.5;
  recipe.checkpoints.final_weights = FinalWeights::moving_average;
  train(recipe, "moving");
  EXPECT_NE(tensors("last"), tensors("moving"));
}

TEST_F(Training, AccumulationIsALargerBatch) {
  // Two batches per update, or one of twice the sentences, give the same mean gradient but for rounding.
  Recipe recipe = small_recipe();
  recipe.model.embedding_dropout = recipe.model.attention_dropout = Probability(0.0F);
  recipe.model.inner_dropout = recipe.model.branch_dropout = Probability(0.0F);
  recipe.training.precision = RunPrecision::f32;
  recipe.data.batches = {.sentences = 300, .pool = 300};
  recipe.training.updates = 5;
  recipe.training.log_every = 1;
  train(recipe, "whole");
  const std::vector<TrainingProgress> whole = std::exchange(listening_.progress, {});
  recipe.data.batches = {.sentences = 100, .pool = 300};
  recipe.training.accumulate = 3;
  train(recipe, "parts");
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(listening_.progress[i].loss, whole[i].loss, 1e-4) << "update " << i + 1;
    EXPECT_NEAR(listening_.progress[i].gradient_norm, whole[i].gradient_norm, 1e-3 * whole[i].gradient_norm);
  }
}

TEST_F(Training, StopsAtNumbersThatAreNone) {
  Recipe recipe = small_recipe();
  recipe.schedule = {.kind = ScheduleKind::constant, .peak = 1e30, .warmup = 0};
  try {
    train(recipe, "run");
    FAIL() << "a rate of 1e30 went unnoticed";
  } catch (const NumericError& error) {
    EXPECT_THAT(error.what(), HasSubstr("train.de:"));
    EXPECT_THAT(error.what(), HasSubstr("checkpoints/update-"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run" / "model.safetensors"));
}

TEST_F(Training, RefusesFoldersThatDoNotFit) {
  const auto message = [&](const Recipe& recipe, const std::string& name, Start start) -> std::string {
    try {
      train(recipe, name, start);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Recipe recipe = small_recipe();
  EXPECT_THAT(message(recipe, "run", Start::resume), HasSubstr("holds no run to resume"));
  train(recipe, "run");
  EXPECT_THAT(message(recipe, "run", Start::fresh), HasSubstr("holds a run already"));
  Recipe other = recipe;
  other.model.inner = 65;
  EXPECT_THAT(message(other, "run", Start::resume), HasSubstr("differs from the recipe given"));
  write_file(folder_ / "train.de", read_file(folder_ / "train.de") + "noch ein Satz.\n");
  write_file(folder_ / "train.en", read_file(folder_ / "train.en") + "one more sentence.\n");
  EXPECT_NE(message(recipe, "run", Start::resume), "no error") << "the text is another one";
}

TEST_F(Training, RefusesRecipesThatMakeNoSense) {
  const auto refuse = [&](const std::function<void(Recipe&)>& change, std::string_view mention) {
    Recipe recipe = small_recipe();
    change(recipe);
    try {
      recipe.validate();
      ADD_FAILURE() << "accepted; expected " << mention;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(mention)));
    }
  };
  refuse([](Recipe& r) { r.data.train_source.clear(); }, "train_source");
  refuse([](Recipe& r) { r.data.train_target.push_back("x"); }, "1 files, train_target 2");
  refuse([](Recipe& r) { r.data.validation_target.clear(); }, "validation_source");
  refuse([](Recipe& r) { r.training.updates = 0; }, "nothing would end the run");
  refuse([](Recipe& r) { r.training.accumulate = 0; }, "accumulate");
  refuse([](Recipe& r) { r.training.smoothing = 1.0; }, "smoothing");
  refuse([](Recipe& r) { r.tokenizer.normalization = "nfx"; }, "nfx");
  refuse([](Recipe& r) { r.tokenizer.shared = false; }, "tokenizer.shared");
  refuse([](Recipe& r) { r.tokenizer.source = "x"; }, "come together");
  refuse([](Recipe& r) { r.schedule.peak = -1.0; }, "peak");
  refuse([](Recipe& r) { r.data.longest = 64; }, "model.longest");
  refuse([](Recipe& r) { r.data.batches = {.target_tokens = 0}; }, "a batch needs a size");
  refuse([](Recipe& r) { r.checkpoints.final_weights = FinalWeights::moving_average; }, "none is kept");
  refuse([](Recipe& r) { r.validation.bleu = false; }, "best_by");
  refuse([](Recipe& r) { r.data.validation_source = r.data.validation_target = {}; }, "needs data.validation_source");
}

TEST_F(Training, ARecipeShownIsReadAgain) {
  Recipe recipe = small_recipe();
  recipe.tokenizer.user_symbols = {"<a>", "b \"c\""};
  const std::string text = show_recipe(recipe);
  EXPECT_EQ(show_recipe(parse_recipe(text, "shown", {})), text);
  EXPECT_EQ(parse_recipe(text, "shown", {"data.train_source=a,b"}).data.train_source,
            (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace heed::test
