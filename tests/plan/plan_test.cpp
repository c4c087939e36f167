#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <array>

#include <filesystem>

#include "base/system/files.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"
#include "optim/optimizer.h"
#include "source_root.h"
#include "train/recipe/recipe.h"
#include "train/stages/staged_recipe.h"

namespace heed {
namespace {

using testing::HasSubstr;

PlanOptions of_recipe(const std::string& name) {
  return {.recipe = (test::source_root() / "recipes" / name).string(), .run = PlanOptions::Run::none};
}

int64_t bytes_of(const ConstView& view) { return view.elements() * (view.empty() ? 0 : size_of(view.type())); }

// For the recipes that begin from a model that their user names: one of its kind.
std::string model_to_begin_from(const std::string& recipe) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kModels{
      {{"finetune-translation", "encoder_decoders/marian"},
       {"finetune-classifier", "encoders/bert"},
       {"finetune-chat", "decoders/llama-yarn-v5"},
       {"finetune-preference", "decoders/llama-yarn-v5"}}};
  for (const auto& [name, model] : kModels) {
    if (recipe.find(name) != std::string::npos) {
      return (test::source_root() / "tests/interchange/golden" / model).string();
    }
  }
  return {};
}

TEST(Plan, EveryRecipeOfTheRepositoryHasExactlyTheParametersThatArePlanned) {
  for (const std::filesystem::path& file : test::recipes_of_repository()) {
    if (has_stages(file.string())) {
      continue;  // each stage has a model of its own
    }
    PlanOptions options = of_recipe(file.lexically_relative(test::source_root() / "recipes").string());
    const std::string other = model_to_begin_from(options.recipe);
    options.overrides = {"model.source_vocabulary=5000", "model.target_vocabulary=5000"};  // without its text
    if (!other.empty()) {
      options.overrides = {"training.from=" + other};
    }
    const Recipe recipe = read_recipe(options.recipe, options.overrides);
    Weights weights;
    const AnyModel model(Scope(weights), sized_model(recipe, options.recipe));
    EXPECT_EQ(plan_model(options).parameters, weights.elements()) << options.recipe;
  }
}

TEST(Plan, MemoryOfWeightsGradientsAndOptimizerIsWhatTrainingHolds) {
  const PlanOptions options = of_recipe("tutorial-2x2.toml");
  const Recipe recipe = parse_recipe(read_file(options.recipe), options.recipe, {});
  for (const auto& [precision, storage] : {std::pair{"f32", DType::f32}, std::pair{"bf16", DType::bf16}}) {
    PlanOptions run = options;
    run.overrides = {std::string("training.precision=") + precision};
    const PlanMemory memory = plan_model(run).memory;

    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    Weights weights;
    const AnyModel model(Scope(weights), recipe.model);
    Trainables trainables(*backend, weights, storage);
    const Optimizer optimizer(*backend, trainables, recipe.optimizer);
    const Optimizer::State state = optimizer.state();
    // The buffers begin each weight on a cache line, which the plan does not count.
    const auto is_near = [](int64_t planned, int64_t real) { return planned <= real && real < planned * 1.001; };
    EXPECT_PRED2(is_near, memory.weights, bytes_of(trainables.masters()) + bytes_of(trainables.copies())) << precision;
    EXPECT_PRED2(is_near, memory.gradients, bytes_of(trainables.gradients())) << precision;
    EXPECT_PRED2(is_near, memory.optimizer, bytes_of(state.first_moments) + bytes_of(state.second_moments))
        << precision;
  }
}

TEST(Plan, AMovingAverageIsOneMoreCopyOfTheWeights) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  const PlanMemory without = plan_model(options).memory;
  options.overrides = {"checkpoints.moving_average=0.99"};
  EXPECT_EQ(plan_model(options).memory.optimizer, without.optimizer + without.gradients);
}

TEST(Plan, AccumulatedGradientsAreKeptBesideThoseOfTheBatchAtHand) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  const PlanMemory without = plan_model(options).memory;
  options.overrides = {"training.accumulate=3"};
  EXPECT_EQ(plan_model(options).memory.gradients, 2 * without.gradients);
}

TEST(Plan, ActivationsAreThoseOfTheRecipesOwnChoice) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  const PlanMemory kept = plan_model(options).memory;
  options.overrides = {"model.recompute_layers=true"};
  const PlanMemory recomputed = plan_model(options).memory;
  EXPECT_EQ(kept.activations, kept.activations_kept);
  EXPECT_EQ(recomputed.activations, recomputed.activations_recomputed);
  EXPECT_EQ(recomputed.activations_kept, kept.activations_kept);
  EXPECT_LT(recomputed.activations_recomputed, kept.activations_kept);
}

TEST(Plan, SaysThePrecisionAndHasTheModelsParts) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  options.overrides = {"training.precision=bf16"};
  const ModelPlan plan = plan_model(options);
  EXPECT_EQ(plan.precision, Precision::bf16);
  ASSERT_EQ(plan.parts.size(), 5U);
  int64_t parameters = 0;
  double forward = 0.0, training = 0.0;
  for (const PlanPart& part : plan.parts) {
    parameters += part.parameters;
    forward += part.forward_flops;
    training += part.training_flops;
  }
  EXPECT_EQ(parameters, plan.parameters);
  EXPECT_EQ(forward, plan.forward_flops);
  EXPECT_EQ(training, plan.training_flops);
}

TEST(Plan, LengthsThatTheModelDoesNotTakeAreRefused) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  for (const int64_t length : {int64_t{-1}, int64_t{1025}}) {
    options.length = length;
    EXPECT_THROW(plan_model(options), ConfigError) << length;
  }
  options.length = 1024;
  EXPECT_NO_THROW(plan_model(options));
}

TEST(Plan, AnUpdateHasAsManyBatchesAsTheRecipeAccumulates) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  options.overrides = {"training.accumulate=3", "data.batch_target_tokens=1000"};
  options.length = 25;
  const ModelPlan plan = plan_model(options);
  EXPECT_EQ(plan.batch.sequences, 40);
  EXPECT_EQ(plan.update_tokens(), 3 * 1000);
  EXPECT_EQ(plan.update_flops(), 3.0 * plan.training_flops);
}

TEST(Plan, MuonsProductsAndScratchAreCounted) {
  PlanOptions options = of_recipe("shakespeare-char.toml");
  // One layer: queries, keys and values stacked (3 of 8 x 8), the attention's output (8 x 8), inner (16 x 8), outer
  // (8 x 16). Table and output projection are Adam's.
  options.overrides = {"model.target_vocabulary=70", "model.model=8",          "model.heads=2", "model.inner=16",
                       "model.decoder_layers=1",     "training.precision=bf16"};
  options.threads = 1;
  const ModelPlan adam = plan_model(options);
  options.overrides.emplace_back("optimizer.kind=muon");
  const ModelPlan muon = plan_model(options);
  // A step of the iteration takes 2 s s l + 2 s s s + 2 s s l: 3072 for sides of 8 and 8, 5120 for 8 and 16.
  const double expected = 5.0 * (4 * 3072 + 2 * 5120);
  EXPECT_EQ(adam.optimizer_flops, 0.0);
  EXPECT_EQ(muon.optimizer_flops, expected);
  EXPECT_EQ(muon.update_flops(), adam.update_flops() + expected);
  // Direction and next of 8 x 16 and two squares of 8 x 8 in bf16, a sum of 8 x 8 in f32.
  const int64_t of_thread = 2 * (2 * 128 + 2 * 64) + 4 * 64;
  EXPECT_EQ(muon.memory.optimizer - adam.memory.optimizer, of_thread);
  options.threads = 2;
  EXPECT_EQ(plan_model(options).memory.optimizer - adam.memory.optimizer, 2 * of_thread);
  options.threads = 8;  // more than its six matrices, which then have all threads one after the other
  EXPECT_EQ(plan_model(options).memory.optimizer - adam.memory.optimizer, of_thread);
  options.overrides.emplace_back("optimizer.orthogonalization=3");
  EXPECT_EQ(plan_model(options).optimizer_flops, 3.0 / 5.0 * expected);
}

TEST(Plan, TheSmallestOfTheRecipesLimitsDecidesTheBatch) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  options.length = 10;
  options.overrides = {"data.batch_target_tokens=1000", "data.batch_total_tokens=600", "data.batch_sentences=50"};
  EXPECT_EQ(plan_model(options).batch.sequences, 30);
  options.overrides.emplace_back("data.batch_sentences=7");
  EXPECT_EQ(plan_model(options).batch.sequences, 7);
  options.overrides.emplace_back("data.batch_target_tokens=3");  // a sentence that passes a limit is a batch alone
  EXPECT_EQ(plan_model(options).batch.sequences, 1);
}

TEST(Plan, ALanguageModelsBatchIsItsContextTimesItsSequences) {
  PlanOptions options = of_recipe("shakespeare-char.toml");
  options.overrides = {"model.target_vocabulary=70"};  // without its text
  const ModelPlan plan = plan_model(options);
  EXPECT_EQ(plan.batch.sequences, 12);
  EXPECT_EQ(plan.batch.target_length, 64);
  EXPECT_EQ(plan.batch.source_length, 0);
  EXPECT_EQ(plan.update_tokens(), 768);
  EXPECT_EQ(plan.updates, 2000);
}

TEST(Plan, TheTutorialsLanguageModelHasTheParametersThatItsWriteUpStates) {
  EXPECT_EQ(plan_model(of_recipe("tutorial-lm.toml")).parameters, 49'665'328);
}

// By hand: 6 x 3,152,384 of the encoder, 6 x 4,204,032 of the decoder, 512 x (7,877 + 5,944) of the embeddings, 513 x
// 5,944 of the output; pre-norm ends each stack with a norm of 1,024. The vocabularies are those of Multi30k's words.
TEST(Plan, TheTutorialsTranslatorsHaveTheParametersCountedByHand) {
  for (const auto& [recipe, parameters] :
       {std::pair("multi30k-word-prenorm.toml", 54'266'168), std::pair("multi30k-postnorm.toml", 54'264'120)}) {
    PlanOptions options = of_recipe(recipe);
    options.overrides = {"model.source_vocabulary=7877", "model.target_vocabulary=5944"};
    EXPECT_EQ(plan_model(options).parameters, parameters) << recipe;
  }
}

TEST(Plan, CacheOfTheLongestSequenceIsThatOfAllItsTokens) {
  const ModelPlan plan = plan_model(of_recipe("tutorial-2x2.toml"));
  // Two decoder layers, keys and values of width 512, in bf16.
  EXPECT_EQ(plan.memory.cache_per_token, 2 * 2 * 512 * 2);
  EXPECT_EQ(plan.memory.cache_full, plan.memory.cache_per_token * 1024);
}

TEST(Plan, FewerHeadsOfKeysAreSaidAndTakeLessOfTheCache) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  options.overrides = {"model.heads=8",         "model.key_value_heads=2",      "model.gated=true",
                       "model.tie=none",        "model.source_vocabulary=5000", "model.target_vocabulary=6000",
                       "model.encoder_layers=3"};
  const ModelPlan plan = plan_model(options);
  EXPECT_EQ(plan.memory.cache_per_token, 2 * 2 * 128 * 2);
  EXPECT_THAT(plan.model, HasSubstr("layers 3 + 2, model 512"));
  EXPECT_THAT(plan.model, HasSubstr(" gated, heads 8 (2 of keys), vocabulary 5000 and 6000"));
}

TEST(Plan, AShortRunTimesTheRecipesOwnUpdates) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  options.run = PlanOptions::Run::short_run;
  options.threads = 1;
  options.overrides = {"model.model=16", "model.inner=16", "model.heads=2", "data.batch_target_tokens=32"};
  const ModelPlan plan = plan_model(options);
  ASSERT_TRUE(plan.timing.has_value());
  EXPECT_EQ(plan.timing->threads, 1);
  EXPECT_GE(plan.timing->updates, 3);
  EXPECT_GT(plan.timing->update_seconds, 0.0);
}

TEST(Plan, AShortRunEndsWhenItIsInterrupted) {
  PlanOptions options = of_recipe("tutorial-2x2.toml");
  options.run = PlanOptions::Run::short_run;
  std::stop_source stop;
  options.interruption.stop = stop.get_token();
  stop.request_stop();
  EXPECT_THROW(plan_model(options), InterruptedError);
  options.run = PlanOptions::Run::none;
  EXPECT_FALSE(plan_model(options).timing.has_value());
}

TEST(InShort, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(in_short(0.0), "0");
  EXPECT_EQ(in_short(12.34), "12.3");
  EXPECT_EQ(in_short(999.7), "1K");
  EXPECT_EQ(in_short(1536.0), "1.54K");
  EXPECT_EQ(in_short(67e9), "67B");
  EXPECT_EQ(in_short(1.5e12), "1.5T");
  EXPECT_EQ(in_short(2e18), "2e+18");
}

}  // namespace
}  // namespace heed
