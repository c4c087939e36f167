#include "train/run/trainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ops/tape.h"
#include "tensor_files/safetensors.h"
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

// Dropout is on: each row's loss depends on the draws of all rows that it sees.
TEST_F(Training, TheShardsOfAnUpdateDrawLikeOneBatchOfAllTheirSentences) {
  Recipe recipe = small_recipe();
  recipe.training.accumulate = 3;
  recipe.training.shards = 6;
  TranslationTask task_in_shards(recipe, {});
  const Tokenizers& tokenizers = task_in_shards.tokenizers();
  const auto pair = TranslationTokenizers::of(tokenizers);
  recipe.model.source_vocabulary = pair.source.vocabulary_size();
  recipe.model.target_vocabulary = pair.target.vocabulary_size();
  const auto backend = make_cpu_backend(2);
  Weights weights;
  const AnyModel model(Scope(weights), recipe.model);
  Trainables trainables(*backend, weights, DType::f32);
  trainables.initialize(*backend, 1);

  const Update update = task_in_shards.next_update(0);
  ASSERT_EQ(update.shards.size(), 6U);
  const Corpus corpus = read_training_corpus(task(recipe).data, pair, {.threads = 1, .spill_folder = folder_});
  const PairBatch batch = make_pairs(corpus, update.examples, marks_of(pair));
  Tape tape;
  Pass whole_pass = Pass::train(*backend, DType::f32, tape, RandomKey{1});
  const TokenLosses whole = model.seq2seq().loss(whole_pass, batch, Smoothing(0.1F));
  int64_t row = 0;
  for (const auto& shard : update.shards) {
    Pass pass = Pass::train(*backend, DType::f32, tape, RandomKey{1});
    const TokenLosses losses = shard->loss(pass, model, Smoothing(0.1F));
    for (int64_t r = 0; r < losses.rows(); ++r, ++row) {
      ASSERT_EQ(losses.smoothed(r), whole.smoothed(row)) << "row " << row;
    }
  }
  EXPECT_EQ(row, whole.rows());
}

TEST_F(Training, CuttingAnUpdateIntoShardsChangesItsResultByRoundingAlone) {
  Recipe recipe = small_recipe();
  recipe.training.updates = 4;
  recipe.training.accumulate = 2;
  train(recipe, "two");
  recipe.training.shards = 8;
  train(recipe, "eight");
  EXPECT_NE(weights("two"), weights("eight")) << "the order of the sum is another";
  const auto loss = [&](const std::string& name) {
    return metrics(name).back().at("event") == "end" ? metrics(name)[metrics(name).size() - 2].at("loss").get<double>()
                                                     : 0.0;
  };
  EXPECT_NEAR(loss("two"), loss("eight"), 1e-5);
}

TEST_F(Training, TheSameRunGivesTheSameBits) {
  train(small_recipe(), "a");
  train(small_recipe(), "b");
  EXPECT_EQ(weights("a"), weights("b"));
  Recipe other = small_recipe();
  other.training.seed = 2;
  train(other, "c");
  EXPECT_NE(weights("a"), weights("c"));
}

TEST_F(Training, AResumedRunGivesTheSameBits) {
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
    EXPECT_EQ(train(recipe, name, TrainStart::resume), EndReason::updates);
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

// A resumed run draws the same for an update.
TEST_F(Training, SplitsItsLinesAnewEachTimeAndResumesToTheSameBits) {
  Recipe recipe = small_recipe();
  task(recipe).tokenizer.learned.kind = TokenizerKind::bpe;
  task(recipe).tokenizer.learned.vocabulary = 330;
  recipe.training.accumulate = 2;
  train(recipe, "cut-once");
  task(recipe).tokenizer.source_dropout = task(recipe).tokenizer.target_dropout = 0.3;
  train(recipe, "unbroken");
  EXPECT_NE(weights("unbroken"), weights("cut-once"));
  listening_.asked = 0;
  listening_.stop_after = 11;
  EXPECT_EQ(train(recipe, "stopped"), EndReason::stopped);
  listening_.stop_after = -1;
  train(recipe, "stopped", TrainStart::resume);
  EXPECT_EQ(weights("stopped"), weights("unbroken"));
}

TEST_F(Training, ALineThatWouldGetTooLongKeepsItsTokens) {
  Recipe recipe = small_recipe();
  task(recipe).tokenizer.learned.kind = TokenizerKind::bpe;
  task(recipe).tokenizer.learned.vocabulary = 330;
  task(recipe).tokenizer.source_dropout = task(recipe).tokenizer.target_dropout = 0.5;
  const Tokenizers tokenizers = make_tokenizers(task(recipe));
  std::vector<int32_t> tokens;
  for (const TokenId token : tokenizers.front()->encode(reversed_sentences("test", 1).front().source)) {
    tokens.push_back(token.value);
  }
  const std::vector<int32_t> before = tokens;
  task(recipe).data.max_length = static_cast<int64_t>(before.size());
  SubwordSampling(task(recipe), 1, TranslationTokenizers::of(tokenizers)).at(3).source(7, tokens);
  EXPECT_EQ(tokens, before);
  task(recipe).data.max_length = 60;
  const SubwordSampling sampling(task(recipe), 1, TranslationTokenizers::of(tokenizers));
  sampling.at(3).source(7, tokens);
  EXPECT_GT(tokens.size(), before.size());
  std::vector<int32_t> later = before, elsewhere = before, on_the_other_side = before;
  sampling.at(4).source(7, later);
  sampling.at(3).source(8, elsewhere);
  sampling.at(3).target(7, on_the_other_side);
  EXPECT_NE(later, tokens);
  EXPECT_NE(elsewhere, tokens);
  EXPECT_NE(on_the_other_side, tokens);
  task(recipe).tokenizer.source_dropout = 0.0;
  EXPECT_FALSE(SubwordSampling(task(recipe), 1, TranslationTokenizers::of(tokenizers)).at(3).source)
      << "nothing to change";
}

TEST_F(Training, SaysHowMuchValidationTextIsInTheTrainingText) {
  write_pairs("train", 300);
  const auto trained = reversed_sentences("train", 2), fresh = reversed_sentences("valid", 2);
  write_file(folder_ / "valid.de",
             fmt::format("{}\n{}\n{}\n{}\n", trained[0].source, fresh[0].source, trained[1].source, fresh[1].source));
  write_file(folder_ / "valid.en",
             fmt::format("{}\n{}\n{}\n{}\n", trained[0].target, fresh[0].target, fresh[1].target, fresh[1].target));
  const TranslationTask task(small_recipe(), {});
  EXPECT_THAT(task.describe_text(),
              HasSubstr("of 4 validation sentences 2 are in it too, 1 of them with the same translation"));
  EXPECT_EQ(task.sizes().back().second, 2);
  write_pairs("valid", 20);
  EXPECT_THAT(TranslationTask(small_recipe(), {}).describe_text(), testing::Not(HasSubstr("validation")));
}

TEST_F(Training, MetricsHaveTheDivergenceOfSmoothedTargetsAndThePeakOfMemory) {
  Recipe recipe = small_recipe();
  recipe.training.smoothing = 0.1;
  train(recipe, "smoothed");
  recipe.training.smoothing = 0.0;
  train(recipe, "sharp");
  for (const json& event : metrics("smoothed")) {
    if (event.at("event") == "train") {
      EXPECT_GT(event.at("kl"), 0.0);
      EXPECT_LT(event.at("kl"), event.at("loss").get<double>() - 0.1) << "less by the entropy of the targets";
      EXPECT_GT(event.at("peak_memory_bytes"), 1'000'000);
    }
  }
  for (const json& event : metrics("sharp")) {
    if (event.at("event") == "train") {
      EXPECT_NEAR(event.at("kl"), event.at("nll"), 1e-9);
    }
  }
}

TEST_F(Training, ALimitMayBeRaisedLater) {
  Recipe recipe = small_recipe();
  train(recipe, "unbroken");
  recipe.training.updates = 19;  // where an unbroken run would not validate
  train(recipe, "shorter");
  recipe.training.updates = 24;
  EXPECT_EQ(train(recipe, "shorter", TrainStart::resume), EndReason::updates);
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
  task(recipe).validation.best_by = BestBy::loss;
  EXPECT_EQ(train(recipe, "patience"), EndReason::patience);
  recipe.validation.patience = 0;
  recipe.training.minutes = 1e-6;
  EXPECT_EQ(train(recipe, "minutes"), EndReason::minutes);
}

TEST_F(Training, FinalWeightsAreThoseThatTheRecipeAsksFor) {
  Recipe recipe = small_recipe();
  recipe.checkpoints.final_weights = FinalWeights::last;
  train(recipe, "last");
  recipe.checkpoints.final_weights = FinalWeights::average_of_last;
  recipe.checkpoints.average = 2;
  train(recipe, "average");
  recipe.checkpoints.average = 1;
  train(recipe, "average-of-one");
  EXPECT_EQ(SafeTensors(folder_ / "average" / "model.safetensors").metadata().at("updates"), "24,16");
  EXPECT_EQ(weights("last"), weights("average-of-one"));
  EXPECT_NE(weights("last"), weights("average"));
  recipe.checkpoints.moving_average = 0.5;
  recipe.checkpoints.final_weights = FinalWeights::moving_average;
  train(recipe, "moving");
  EXPECT_NE(weights("last"), weights("moving"));
}

TEST_F(Training, AccumulationEqualsALargerBatch) {
  // Two batches per update, or one of twice the sentences, give the same mean gradient but for rounding.
  Recipe recipe = small_recipe();
  recipe.model.embedding_dropout = recipe.model.attention_dropout = Probability(0.0F);
  recipe.model.inner_dropout = recipe.model.branch_dropout = Probability(0.0F);
  recipe.training.precision = Precision::f32;
  task(recipe).data.batches = {.sentences = 300, .pool = 300};
  recipe.training.updates = 5;
  recipe.training.log_every = 1;
  train(recipe, "whole");
  const std::vector<TrainStatus> whole = std::exchange(listening_.progress, {});
  task(recipe).data.batches = {.sentences = 100, .pool = 300};
  recipe.training.accumulate = 3;
  train(recipe, "parts");
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(listening_.progress[i].loss, whole[i].loss, 1e-4) << "update " << i + 1;
    EXPECT_NEAR(listening_.progress[i].gradient_norm, whole[i].gradient_norm, 1e-3 * whole[i].gradient_norm);
  }
}

TEST_F(Training, AnotherChoiceOfFinalWeightsUsesTheSavedCheckpoints) {
  Recipe recipe = small_recipe();
  recipe.checkpoints.final_weights = FinalWeights::last;
  recipe.checkpoints.keep = 1;
  recipe.training.updates = 16;
  train(recipe, "run");
  recipe.training.updates = 24;
  recipe.checkpoints.final_weights = FinalWeights::average_of_last;
  recipe.checkpoints.average = 3;
  EXPECT_EQ(train(recipe, "run", TrainStart::resume), EndReason::updates);
  EXPECT_EQ(SafeTensors(folder_ / "run" / "model.safetensors").metadata().at("updates"), "24,16");
  EXPECT_THAT(read_file(folder_ / "run" / "recipe.toml"), HasSubstr("final = \"average-of-last\""));
}

TEST_F(Training, KeepsTheMovingAverageOfItsWeights) {
  Recipe recipe = small_recipe();
  recipe.training.precision = Precision::f32;
  recipe.training.updates = 1;
  recipe.checkpoints.moving_average = 0.5;
  recipe.checkpoints.final_weights = FinalWeights::moving_average;
  train(recipe, "run");
  const auto tensor = [&](int64_t update, const char* name) {
    const SafeTensors file(folder_ / "run" / "checkpoints" / fmt::format("update-{:08}", update) /
                           "training.safetensors");
    const std::span<const std::byte> bytes = file.at(name).bytes;
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const std::vector<float> begin = tensor(0, "masters"), end = tensor(1, "masters"), mean = tensor(1, "moving_average");
  constexpr double kDecay = 2.0 / 11.0;  // of a young average: (1 + n) / (10 + n)
  for (size_t i = 0; i < mean.size(); ++i) {
    ASSERT_NEAR(mean[i], kDecay * begin[i] + (1.0 - kDecay) * end[i], 1e-6) << i;
  }
}

TEST_F(Training, FollowsItsSchedule) {
  Recipe recipe = small_recipe();
  recipe.schedule = {.kind = ScheduleKind::cosine, .peak = 4e-3, .final = 1e-4, .warmup = 6, .length = 20};
  recipe.training.log_every = 1;
  train(recipe, "run");
  ASSERT_EQ(listening_.progress.size(), 24U);
  for (const TrainStatus& progress : listening_.progress) {
    EXPECT_EQ(progress.learning_rate, learning_rate(recipe.schedule, progress.update));
  }
}

// As heed tune compares runs at a share of their length.
TEST_F(Training, APausedRunIsValidatedAndGoesOnToTheSameBits) {
  const Recipe recipe = small_recipe();
  train(recipe, "unbroken");
  listening_ = {};
  listening_.pause_at = 0.45;
  ASSERT_EQ(train(recipe, "run"), EndReason::paused);
  EXPECT_EQ(listening_.validations.back().update, 11) << "0.45 of 24 updates";
  listening_ = {};
  EXPECT_EQ(train(recipe, "run", TrainStart::resume), EndReason::updates);
  EXPECT_EQ(listening_.validations.front().update, 16);
  EXPECT_EQ(weights("run"), weights("unbroken"));
}

// Rates fall with the time, down to the last one, also over a stop.
class TimedTraining : public Training, public ::testing::WithParamInterface<ScheduleKind> {};
INSTANTIATE_TEST_SUITE_P(Schedules, TimedTraining,
                         ::testing::Values(ScheduleKind::timed_cosine, ScheduleKind::timed_trapezoid));

TEST_P(TimedTraining, FollowsTheTime) {
  Recipe recipe = small_recipe();
  recipe.schedule = {.kind = GetParam(), .peak = 4e-3, .final = 1e-4, .warmup = 0};
  recipe.training.minutes = 3.0 / 60.0;
  recipe.training.updates = 0;
  recipe.training.log_every = 1;
  recipe.validation.every = 8;
  listening_.stop_after = 8;
  ASSERT_EQ(train(recipe, "run"), EndReason::stopped);
  const double at_stop = listening_.progress.back().learning_rate;
  listening_ = {};
  EXPECT_EQ(train(recipe, "run", TrainStart::resume), EndReason::minutes);
  EXPECT_LE(listening_.progress.front().learning_rate, at_stop);
  EXPECT_TRUE(std::ranges::is_sorted(listening_.progress, std::greater(), &TrainStatus::learning_rate));
  // An update's rate is that of the time when it began, after the line before it was reported.
  ASSERT_GT(listening_.progress.size(), 1U);
  for (size_t i = 1; i < listening_.progress.size(); ++i) {
    const TrainStatus &before = listening_.progress[i - 1], &now = listening_.progress[i];
    const double share = std::min(1.0, before.seconds / (60.0 * recipe.training.minutes));
    ASSERT_LE(now.learning_rate, learning_rate(recipe.schedule, now.update, share)) << now.update;
  }
  EXPECT_LE(listening_.validations.back().seconds, 4.5);
}

TEST_F(Training, TimedRatesNeedATime) {
  Recipe recipe = small_recipe();
  for (const ScheduleKind kind : {ScheduleKind::timed_cosine, ScheduleKind::timed_trapezoid}) {
    recipe.schedule = {.kind = kind, .peak = 4e-3, .warmup = 0};
    EXPECT_THROW(train(recipe, "run"), ConfigError);
  }
}

TEST_F(Training, RecomputedLayersGiveTheSameBits) {
  Recipe recipe = small_recipe();
  train(recipe, "kept");
  recipe.model.recompute = Recompute::layers;
  train(recipe, "replayed");
  EXPECT_EQ(weights("kept"), weights("replayed"));
}

TEST_F(Training, TextBeyondMemoryGivesTheSameBits) {
  Recipe recipe = small_recipe();
  write_pairs("train", 30'000);
  task(recipe).tokenizer.learned.kind = TokenizerKind::byte;
  task(recipe).data.max_length = 120;
  recipe.model.max_length = 128;
  recipe.training.updates = 2;
  task(recipe).validation.bleu = false;
  task(recipe).validation.best_by = BestBy::loss;
  train(recipe, "in-memory");
  task(recipe).data.memory_megabytes = 1;
  train(recipe, "on-disk");
  EXPECT_EQ(weights("in-memory"), weights("on-disk"));
}

TEST_F(Training, ALongValidationLineIsTruncated) {
  Recipe recipe = small_recipe();
  std::string unknown;
  for (int i = 0; i < 200; ++i) {
    unknown += "Quux ";
  }
  write_file(folder_ / "valid.de", unknown + "\n");
  write_file(folder_ / "valid.en", unknown + "\n");
  train(recipe, "run");
  EXPECT_EQ(listening_.validations.size(), 3U);
}

TEST_F(Training, ARecipeCanBeReadAgainAfterBeingShown) {
  Recipe recipe = small_recipe();
  task(recipe).tokenizer.learned.user_symbols = {"<a>", "b \"c\""};
  const std::string text = to_toml(recipe);
  EXPECT_EQ(to_toml(parse_recipe(text, "shown", {})), text);
  EXPECT_EQ(parse_recipe(text, "shown", {"data.train_source=a,b"}).of<TranslationRecipe>().data.train_source,
            (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace heed::test
