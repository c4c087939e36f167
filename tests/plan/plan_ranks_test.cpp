#include "plan/layouts/plan_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/errors.h"
#include "plan/layouts/layout_stages.h"
#include "plan/model_cost.h"
#include "source_root.h"
#include "train/stages/staged_recipe.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelConfig twelve_layers() {
  ModelConfig config;
  config.architecture = Architecture::causal_lm;
  config.model = 96;
  config.inner = 384;
  config.heads = 8;
  config.key_value_heads = 4;
  config.decoder_layers = 12;
  config.target_vocabulary = 1000;
  config.max_length = 64;
  return config;
}

constexpr PlanBatch kText{.sequences = 3, .target_length = 32};

PlanOptions on_ranks(const RanksOptions& ranks, std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.begin(), {"training.accumulate=8", "model.encoder_layers=4", "model.decoder_layers=4"});
  return {.recipe = (test::source_root() / "recipes" / "tutorial-2x2.toml").string(),
          .overrides = std::move(overrides),
          .run = PlanOptions::Run::none,
          .ranks = ranks};
}

RanksOptions of_speed(int64_t ranks) { return {.ranks = ranks, .flops_per_second = 1e11}; }

std::string refusal(const PlanOptions& options) {
  try {
    plan_model(options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Layouts, AllFactorsOfTheRanksAreTried) {
  EXPECT_EQ(layouts_of(1).size(), 1U);
  EXPECT_THAT(layouts_of(3), ElementsAre(Layout{3, 1, 1}, Layout{1, 3, 1}, Layout{1, 1, 3}));
  EXPECT_EQ(layouts_of(4096).size(), 91U);
  for (const Layout& layout : layouts_of(60)) {
    EXPECT_EQ(layout.ranks(), 60);
  }
}

TEST(Obstacles, NameWhatIsNotDivided) {
  const ModelConfig config = twelve_layers();
  EXPECT_TRUE(obstacles({4, 6, 4}, config, 4).empty());
  EXPECT_THAT(obstacles({.data = 5}, config, 4), ElementsAre("data 5 is more than the update's 4 shards"));
  EXPECT_TRUE(obstacles({.pipeline = 5}, config, 4).empty());
  EXPECT_THAT(obstacles({.pipeline = 24}, config, 4), ElementsAre("pipeline 24 is more than the model's 12 layers"));
  ModelConfig biased = config;
  biased.positions = Positions::relative_bias;
  EXPECT_TRUE(obstacles({}, biased, 4).empty());
  EXPECT_THAT(obstacles({.pipeline = 2}, biased, 4),
              ElementsAre("pipeline 2 divides layers that share relative biases"));
  ModelConfig skipping = config, with_tables = config;
  skipping.skips = Skips::mirrored;
  with_tables.value_embeddings = 1;
  EXPECT_THAT(obstacles({.pipeline = 2}, skipping, 4),
              ElementsAre("pipeline 2 divides layers that add other layers' outputs"));
  EXPECT_THAT(obstacles({.pipeline = 2}, with_tables, 4),
              ElementsAre("pipeline 2 divides layers that share value embeddings"));
  EXPECT_THAT(obstacles({.tensor = 8}, config, 4), ElementsAre("tensor 8 does not divide 4 heads of keys"));
  EXPECT_THAT(obstacles({.tensor = 5}, config, 4),
              ElementsAre("tensor 5 does not divide 8 heads", "tensor 5 does not divide 4 heads of keys",
                          "tensor 5 does not divide 384 inner columns"));
}

TEST(Stages, OneStageIsTheWholeModelForEveryRecipe) {
  for (const std::filesystem::path& file : test::recipes_of_repository()) {
    const std::string name = file.string();
    if (has_stages(name)) {
      continue;  // each stage has a model of its own
    }
    const Recipe recipe =
        parse_recipe(read_file(name), name, {"model.source_vocabulary=5000", "model.target_vocabulary=5000"});
    const ModelConfig config = sized_model(recipe, name);
    const PlanBatch batch{.sequences = 2,
                          .source_length = config.architecture == Architecture::causal_lm ? 0 : 10,
                          .target_length = config.architecture == Architecture::encoder ? 0 : 10};
    const ModelCost whole = cost_of(config, batch, DType::bf16);
    const std::vector<StageCost> stages = stages_of({}, config, batch, DType::bf16);
    ASSERT_EQ(stages.size(), 1U);
    EXPECT_EQ(stages[0].parameters, whole.parameters) << name;
    EXPECT_EQ(stages[0].forward_flops, whole.forward_flops) << name;
    EXPECT_EQ(stages[0].backward_flops, whole.training_flops - whole.forward_flops) << name;
    EXPECT_EQ(stages[0].peak_activations, whole.activation_bytes) << name;
    EXPECT_EQ(stages[0].tensor_sums, 0) << name;
    EXPECT_EQ(stages[0].boundary_bytes, 0.0) << name;
  }
}

TEST(Stages, LayersAndTheirOperationsAreSharedOut) {
  ModelConfig config = twelve_layers();
  config.tying = Tying::output;
  config.final_norm = FinalNorm::none;
  config.target_vocabulary = 5000;
  const int64_t table = 5000 * 96;
  const ModelCost whole = cost_of(config, kText, DType::bf16);
  const std::vector<StageCost> stages = stages_of({.pipeline = 4}, config, kText, DType::bf16);
  ASSERT_EQ(stages.size(), 4U);
  int64_t parameters = 0;
  double forward = 0.0, backward = 0.0;
  for (const StageCost& stage : stages) {
    parameters += stage.parameters;
    forward += stage.forward_flops;
    backward += stage.backward_flops;
  }
  EXPECT_EQ(parameters, whole.parameters);  // the last stage looks up the table's rows for the first one
  EXPECT_DOUBLE_EQ(forward, whole.forward_flops);
  EXPECT_DOUBLE_EQ(backward, whole.training_flops - whole.forward_flops);
  EXPECT_EQ(stages[3].parameters_last, table);
  EXPECT_LT(stages[1].parameters_last, stages[1].parameters);  // a layer
  EXPECT_EQ(stages[0].boundary_bytes, 2 * 3 * 32 * 96 * 2);    // the stream and its norm
  EXPECT_EQ(stages[3].boundary_bytes, 0.0);
  EXPECT_LT(stages[1].kept_activations, stages[1].peak_activations);
}

TEST(Stages, LayersThatDifferAreCountedWhereTheyAre) {
  ModelConfig config = twelve_layers();
  config.final_norm = FinalNorm::none;
  config.inner = {384, 384, 384, 384, 192, 192, 192, 192, 96, 96, 96, 96};
  config.key_value_heads = {8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4};
  const LayerPattern local{{HeadPattern::Kind::local, 4}};
  config.attention = {{HeadPattern{}}, {HeadPattern{}}, local};
  const ModelCost whole = cost_of(config, kText, DType::bf16);
  for (const Layout layout : {Layout{.pipeline = 5}, Layout{.pipeline = 3}}) {
    int64_t parameters = 0;
    double forward = 0.0;
    for (const StageCost& stage : stages_of(layout, config, kText, DType::bf16)) {
      parameters += stage.parameters;
      forward += stage.forward_flops;
    }
    EXPECT_EQ(parameters, whole.parameters);
    EXPECT_DOUBLE_EQ(forward, whole.forward_flops);
  }
  config.inner = {128, 50};
  EXPECT_THAT(obstacles({.tensor = 4}, config, 4), ElementsAre("tensor 4 does not divide 50 inner columns"));
}

TEST(Stages, BackwardEndsWithTheEncodersTable) {
  ModelConfig config = twelve_layers();
  config.architecture = Architecture::seq2seq;
  config.encoder_layers = config.decoder_layers = 2;
  config.source_vocabulary = 5000;
  config.target_vocabulary = 6000;
  const PlanBatch pairs{.sequences = 3, .source_length = 20, .target_length = 30};
  const auto last = [&] { return stages_of({}, config, pairs, DType::bf16).front().parameters_last; };
  EXPECT_EQ(last(), 5000 * 96);
  config.tying = Tying::output;
  EXPECT_EQ(last(), 5000 * 96);
  config.tying = Tying::all;
  config.source_vocabulary = 6000;
  EXPECT_EQ(last(), 6000 * 96);
}

TEST(Stages, AnEncodersOutputTravelsThroughTheDecodersStages) {
  ModelConfig config = twelve_layers();
  config.architecture = Architecture::seq2seq;
  config.encoder_layers = config.decoder_layers = 2;
  config.source_vocabulary = 500;
  const PlanBatch pairs{.sequences = 3, .source_length = 20, .target_length = 30};
  const std::vector<StageCost> stages = stages_of({.pipeline = 4}, config, pairs, DType::f32);
  const double row = 96 * 4;
  EXPECT_EQ(stages[0].boundary_bytes, 2 * 60 * row);  // the stream and its norm
  EXPECT_EQ(stages[1].boundary_bytes, 60 * row);
  EXPECT_EQ(stages[2].boundary_bytes, (60 + 2 * 90) * row);
  // Two sums in a layer of the encoder and three in one of the decoder, forward and backward; the gradient of the
  // encoder's output; two embeddings; what the logits' gradient becomes.
  const StageCost half = stages_of({.tensor = 2}, config, pairs, DType::f32).front();
  EXPECT_EQ(half.tensor_sums, 2 * 4 + 2 * 6 + 1 + 2 + 1);
  EXPECT_EQ(half.tensor_bytes, (2 * 4 * 60 + 2 * 6 * 90 + 60 + 60 + 90 + 90) * row);
  // The first stage of a stack has the norm that the next one's first layer reads, beside its own.
  const int64_t norm = 2 * 96;
  EXPECT_EQ(stages[0].parameters - stages[1].parameters, 500 * 96 + norm);  // the source's table
  EXPECT_EQ(stages[3].parameters - stages[2].parameters, 1000 - norm);      // the output's table and bias, no embedding
}

TEST(Stages, DividedMatricesHoldAndComputeTheirPart) {
  ModelConfig config = twelve_layers();
  config.bias = Bias::none;
  config.output_bias = Bias::none;
  const StageCost whole = stages_of({}, config, kText, DType::bf16).front();
  const StageCost half = stages_of({.tensor = 2}, config, kText, DType::bf16).front();
  const int64_t norms = 25 * 96;  // of 12 layers and the last, undivided
  EXPECT_EQ(2 * (half.parameters - norms), whole.parameters - norms);
  EXPECT_DOUBLE_EQ(2.0 * half.forward_flops, whole.forward_flops);
  // Two for each layer, forward and backward; the embedding and what the logits' gradient becomes.
  EXPECT_EQ(half.tensor_sums, 12 * 4 + 2);
  EXPECT_EQ(half.tensor_bytes, (12 * 4 + 2) * 3.0 * 32 * 96 * 2);
  EXPECT_LT(half.peak_activations, whole.peak_activations);
  for (const Branches branches : {Branches::sequential, Branches::parallel, Branches::parallel_own_norms}) {
    config.branches = branches;
    config.recompute = Recompute::nothing;
    EXPECT_EQ(stages_of({.tensor = 2}, config, kText, DType::bf16).front().tensor_sums, 12 * 4 + 2);
    config.recompute = Recompute::layers;
    EXPECT_EQ(stages_of({.tensor = 2}, config, kText, DType::bf16).front().tensor_sums, 12 * 6 + 2);
  }
}

TEST(PlanRanks, OneRankIsThePlanOfOneProcess) {
  for (const char* precision : {"training.precision=f32", "training.precision=bf16"}) {
    const ModelPlan plan = plan_model(on_ranks(of_speed(1), {precision, "checkpoints.moving_average=0.9"}));
    ASSERT_EQ(plan.ranks->possible.size(), 1U);
    const LayoutCost& cost = plan.ranks->possible.front();
    EXPECT_EQ(cost.memory.weights, plan.memory.weights);
    EXPECT_EQ(cost.memory.gradients, plan.memory.gradients);
    EXPECT_EQ(cost.memory.optimizer, plan.memory.optimizer);
    EXPECT_EQ(cost.memory.activations, plan.memory.activations);
    EXPECT_DOUBLE_EQ(cost.time.compute, 8.0 * plan.training_flops / 1e11);
    EXPECT_DOUBLE_EQ(plan.ranks->efficiency(cost), 1.0);
  }
}

TEST(PlanRanks, BatchesThatAreCutGiveMoreShardsOfFewerTokens) {
  const std::vector<std::string> batch{"data.batch_target_tokens=1008"};  // 42 sentences of 24 tokens
  std::vector<std::string> cut = batch;
  cut.emplace_back("training.shards=32");
  const ModelPlan whole = plan_model(on_ranks(of_speed(8), batch)), parts = plan_model(on_ranks(of_speed(8), cut));
  EXPECT_EQ(whole.ranks->shards, 8);
  EXPECT_EQ(parts.ranks->shards, 32);
  EXPECT_EQ(parts.shard().sequences, 11);
  EXPECT_EQ(parts.update_tokens(), whole.update_tokens());
  const auto data_parallel = [](const ModelPlan& plan) {
    return *std::ranges::find(plan.ranks->possible, Layout{8, 1, 1}, &LayoutCost::layout);
  };
  EXPECT_EQ(parts.memory.activations, data_parallel(parts).memory.activations);
  EXPECT_NEAR(data_parallel(parts).time.compute, data_parallel(whole).time.compute, 1e-9);
  EXPECT_GT(data_parallel(parts).sent_bytes, 2.0 * data_parallel(whole).sent_bytes);  // gradients in each round
  EXPECT_LT(data_parallel(parts).memory.activations, data_parallel(whole).memory.activations);
  cut.back() = "training.shards=400";
  EXPECT_THAT(refusal(on_ranks(of_speed(8), cut)), HasSubstr("training.shards cuts a batch of 42 sequences into 50"));
}

TEST(PlanRanks, FrozenWeightsAreHeldButNeitherSentNorUpdated) {
  const std::vector<std::string> frozen{"training.precision=bf16", "training.freeze=[\"encoder*\"]"};
  const ModelPlan all = plan_model(on_ranks(of_speed(2))), some = plan_model(on_ranks(of_speed(2), frozen));
  ASSERT_LT(some.trained_parameters, some.parameters);
  const auto data_parallel = [](const ModelPlan& plan) {
    return *std::ranges::find(plan.ranks->possible, Layout{2, 1, 1}, &LayoutCost::layout);
  };
  EXPECT_LT(data_parallel(some).sent_bytes, 0.8 * data_parallel(all).sent_bytes);
  EXPECT_LT(data_parallel(some).memory.optimizer, data_parallel(all).memory.optimizer);
  EXPECT_GT(data_parallel(some).memory.weights, data_parallel(all).memory.weights);  // their masters are not divided
  PlanOptions alone = on_ranks(of_speed(1), frozen);
  const ModelPlan one = plan_model(alone);
  EXPECT_NEAR(static_cast<double>(one.ranks->possible.front().memory.total()),
              static_cast<double>(one.memory.training()), 100.0);
}

TEST(PlanRanks, TheOptimizersTimeIsThatOfTheMemoryItTouches) {
  const ModelPlan plan = plan_model(on_ranks(of_speed(1), {"training.precision=bf16"}));
  EXPECT_NEAR(plan.ranks->possible.front().time.optimizer, 30.0 * static_cast<double>(plan.parameters) / 20e9, 1e-9);
}

TEST(PlanRanks, AMeasuredSpeedGivesTheMeasuredUpdateBack) {
  PlanOptions options = on_ranks({.ranks = 1}, {"model.model=16", "model.inner=16", "model.heads=2",
                                                "data.batch_target_tokens=72", "training.shards=16"});
  options.run = PlanOptions::Run::short_run;
  options.threads = 1;
  const ModelPlan plan = plan_model(options);
  EXPECT_GT(plan.timing->optimizer_seconds, 0.0);
  EXPECT_LT(plan.timing->optimizer_seconds, plan.timing->update_seconds);
  EXPECT_NEAR(plan.ranks->possible.front().time.total() / plan.timing->update_seconds, 1.0, 1e-9);
}

TEST(PlanRanks, LayoutsThatFitComeFirstAndTheFastestOfThemIsChosen) {
  RanksOptions options = of_speed(8);
  const RanksPlan open = *plan_model(on_ranks(options)).ranks;
  ASSERT_GE(open.possible.size(), 4U);
  const auto by_time = [](const LayoutCost& a, const LayoutCost& b) { return a.time.total() <= b.time.total(); };
  EXPECT_TRUE(std::ranges::is_sorted(open.possible, [&](const auto& a, const auto& b) { return !by_time(b, a); }));
  EXPECT_EQ(open.chosen(), &open.possible.front());
  EXPECT_EQ(open.possible.size() + open.impossible.size(), layouts_of(8).size());

  const LayoutCost least =
      *std::ranges::min_element(open.possible, {}, [](const LayoutCost& cost) { return cost.memory.total(); });
  options.memory = static_cast<double>(least.memory.total());
  const RanksPlan tight = *plan_model(on_ranks(options)).ranks;
  ASSERT_NE(tight.chosen(), nullptr);
  EXPECT_EQ(tight.chosen()->layout, least.layout);
  EXPECT_EQ(tight.possible.size(), open.possible.size());
  EXPECT_FALSE(tight.fits(tight.possible.back()));

  options.memory -= 1.0;
  EXPECT_EQ(plan_model(on_ranks(options)).ranks->chosen(), nullptr);
}

TEST(PlanRanks, RanksThatNoLayoutSharesOutAreSaid) {
  const RanksPlan plan = *plan_model(on_ranks(of_speed(11))).ranks;
  EXPECT_TRUE(plan.possible.empty());
  EXPECT_EQ(plan.impossible.size(), 3U);
  EXPECT_EQ(plan.chosen(), nullptr);
}

TEST(PlanRanks, LayoutsThatTrainingRefusesAreImpossible) {
  const auto reasons = [](const std::string& setting, const Layout& layout, const std::string& from = {}) {
    RanksOptions options = of_speed(2);
    options.layout = layout;
    return refusal(
        on_ranks(options, from.empty() ? std::vector{setting} : std::vector{setting, "training.from=" + from}));
  };
  const Layout copies{2, 1, 1}, stages{1, 2, 1}, parts{1, 1, 2};
  EXPECT_THAT(reasons("optimizer.kind=muon", parts), HasSubstr("tensor 2 does not go with optimizer.kind = \"muon\""));
  EXPECT_THAT(reasons("training.freeze=[\"encoder*\"]", parts), HasSubstr("tensor 2 does not go with training.freeze"));
  EXPECT_THAT(reasons("adapter.rank=2", parts, "base"), HasSubstr("tensor 2 does not go with an adapter"));
  EXPECT_THAT(reasons("training.local_updates=5", parts), HasSubstr("which does not go with training.local_updates"));
  EXPECT_THAT(reasons("training.local_updates=5", stages), HasSubstr("which does not go with training.local_updates"));
  for (const char* setting : {"optimizer.kind=muon", "training.freeze=[\"encoder*\"]", "training.local_updates=5"}) {
    EXPECT_EQ(reasons(setting, copies), "") << setting;
  }
}

TEST(PlanRanks, WhatTravelsIsTheRecipesUnlessOptionsSayOtherwise) {
  const auto sent = [](RanksOptions options, const std::vector<std::string>& overrides = {}) {
    options.layout = {2, 1, 1};
    return plan_model(on_ranks(options, overrides)).ranks->possible.front().sent_bytes;
  };
  const RanksOptions as_recipe = of_speed(2);
  RanksOptions in_bf16 = as_recipe, rarely = as_recipe, always = as_recipe;
  in_bf16.gradients = WireType::bf16;
  rarely.local_updates = 10;
  always.local_updates = 1;
  EXPECT_LT(sent(in_bf16), sent(as_recipe));
  EXPECT_EQ(sent(as_recipe, {"training.gradients=bf16"}), sent(in_bf16));
  EXPECT_LT(sent(rarely), sent(as_recipe));
  RanksOptions in_int8 = rarely;
  in_int8.gradients = WireType::int8;
  EXPECT_DOUBLE_EQ(sent(in_int8) / sent(rarely), (1.0 + 1.0 / 64.0) / 4.0);  // a scale for each 256 of them
  RanksOptions in_int4 = rarely;
  in_int4.gradients = WireType::int4;
  EXPECT_DOUBLE_EQ(sent(in_int4) / sent(rarely), (0.5 + 1.0 / 16.0) / 4.0);  // for each 64
  in_int8.local_updates = 1;
  EXPECT_THAT(refusal(on_ranks(in_int8)), HasSubstr("int8 and int4 are for differences of weights"));
  EXPECT_EQ(sent(as_recipe, {"training.local_updates=10"}), sent(rarely));
  EXPECT_EQ(sent(always, {"training.local_updates=10"}), sent(as_recipe));
}

TEST(PlanRanks, WhatCannotBePlannedIsRefused) {
  for (const int64_t ranks : {int64_t{0}, int64_t{-1}, int64_t{1} << 20}) {
    EXPECT_THAT(refusal(on_ranks(of_speed(ranks))), HasSubstr("ranks, expected 1 to 65536"));
  }
  RanksOptions options = of_speed(4);
  options.layout = {2, 1, 1};
  EXPECT_THAT(refusal(on_ranks(options)), HasSubstr("data=2,pipeline=1,tensor=1 needs 2 ranks, not 4"));
  options.layout = {1, 4, 1};
  options.local_updates = 0;
  EXPECT_THAT(refusal(on_ranks(options)), HasSubstr("0 local updates"));
  options.local_updates = 1;
  options.ranks = 0;
  options.layout = {9, 9, 1};
  EXPECT_THAT(
      refusal(on_ranks(options)),
      HasSubstr(
          "is impossible: data 9 is more than the update's 8 shards; pipeline 9 is more than the model's 8 layers"));
  options.layout = {60000, 60000, 1};
  EXPECT_THAT(refusal(on_ranks(options)), HasSubstr("expected 1 to 65536"));
}

}  // namespace
}  // namespace heed
