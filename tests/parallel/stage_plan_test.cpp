#include "parallel/stage_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/model_testing.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ModelConfig staged_pairs() {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.model = 512;
  config.inner = 2048;
  config.heads = 8;
  config.encoder_layers = config.decoder_layers = 6;
  return config;
}

// The weights of a model by their names.
class NamedWeights {
 public:
  explicit NamedWeights(const ModelConfig& config) { AnyModel(Scope(weights_), config); }
  const WeightIdentity& operator[](std::string_view name) const { return weights_.find(name).identity(); }

 private:
  Weights weights_;
};

TEST(Stages, AreCutWhereTheLargestIsSmallest) {
  // An encoder's layer has 3 units of 2^20 products, a decoder's 4: 42 together.
  const StagePlan two(staged_pairs(), 2), three(staged_pairs(), 3);
  EXPECT_EQ(two.layers_of(0), (StageRanges{{0, 6}, {0, 1}}));
  EXPECT_EQ(two.layers_of(1), (StageRanges{{6, 6}, {1, 6}}));
  EXPECT_EQ(three.layers_of(0), (StageRanges{{0, 5}, {0, 0}}));
  EXPECT_EQ(three.layers_of(1), (StageRanges{{5, 6}, {0, 3}}));
  EXPECT_EQ(three.layers_of(2), (StageRanges{{6, 6}, {3, 6}}));
}

TEST(Stages, TheOutputProjectionIsWorkToo) {
  ModelConfig config = staged_pairs();
  config.architecture = Architecture::causal_lm;
  config.target_vocabulary = 24'576;  // as much as four layers
  EXPECT_EQ(StagePlan(config, 2).layers_of(1), (StageRanges{{0, 0}, {5, 6}}));
}

TEST(Stages, WiderLayersAreMoreWork) {
  ModelConfig config = staged_pairs();
  config.architecture = Architecture::causal_lm;
  config.target_vocabulary = 8;
  EXPECT_EQ(StagePlan(config, 2).layers_of(0), (StageRanges{{0, 0}, {0, 3}}));
  config.inner = {8192, 8192, 2048, 2048, 2048, 2048};  // 9 units each, then 3
  EXPECT_EQ(StagePlan(config, 2).layers_of(0), (StageRanges{{0, 0}, {0, 2}}));
}

TEST(Stages, MoreThanThereAreLayersAreRefused) {
  try {
    StagePlan(small_config(Architecture::causal_lm), 3);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "layout: pipeline is 3, but the model has only 2 layers");
  }
  EXPECT_EQ(StagePlan(small_config(Architecture::seq2seq), 4).count(), 4);
}

TEST(Stages, LayersThatShareRelativeBiasesStayTogether) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.positions = Positions::relative_bias;
  try {
    StagePlan(config, 3);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "layout: pipeline is 3, but layers that share relative biases (positions \"relative-bias\") have to "
                 "stay in one stage");
  }
  EXPECT_EQ(StagePlan(config, 2).layers_of(1), (StageRanges{{2, 2}, {0, 2}}));
}

TEST(Stages, WeightsAreWhereTheyAreRead) {
  const NamedWeights weights(staged_pairs());
  const StagePlan plan(staged_pairs(), 2);
  EXPECT_EQ(plan.stage_of(weights["source.tokens"]), 0);
  EXPECT_EQ(plan.stage_of(weights["encoder.layers.5.feed_forward.inner.weight"]), 0);
  EXPECT_EQ(plan.stage_of(weights["encoder.norm.gain"]), 0);
  EXPECT_EQ(plan.stage_of(weights["target.tokens"]), 0);
  EXPECT_EQ(plan.stage_of(weights["decoder.layers.0.self_attention.norm.gain"]), 0);
  EXPECT_EQ(plan.stage_of(weights["decoder.layers.1.self_attention.norm.gain"]), 0) << "the layer before computes it";
  EXPECT_EQ(plan.stage_of(weights["decoder.layers.1.self_attention.projection.weight"]), 1);
  EXPECT_EQ(plan.stage_of(weights["decoder.layers.1.cross_attention.norm.gain"]), 1);
  EXPECT_EQ(plan.stage_of(weights["decoder.norm.gain"]), 1);
  EXPECT_EQ(plan.stage_of(weights["output.weight"]), 1);
}

TEST(Stages, ATableThatIsTheOutputProjectionTooIsInTheLast) {
  ModelConfig config = staged_pairs();
  config.tying = Tying::output;
  const NamedWeights weights(config);
  const StagePlan output(config, 3);
  EXPECT_EQ(output.stage_of(weights["source.tokens"]), 0);
  EXPECT_EQ(output.stage_of(weights["target.tokens"]), 2);
  EXPECT_FALSE(output.is_routed(weights["source.tokens"]));
  EXPECT_TRUE(output.is_routed(weights["target.tokens"]));
  config.tying = Tying::all;
  const StagePlan all(config, 3);
  EXPECT_EQ(all.stage_of(weights["source.tokens"]), 2);
  ASSERT_EQ(all.routes().size(), 2U);
  EXPECT_EQ(all.routes()[0].reader, 0);
  EXPECT_EQ(all.routes()[1].reader, 1);
}

TEST(Stages, WhatLayersShareIsWithTheFirst) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.positions = Positions::relative_bias;
  const NamedWeights weights(config);
  const StagePlan plan(config, 2);
  EXPECT_EQ(plan.stage_of(weights["encoder.relative_bias"]), 0);
  EXPECT_EQ(plan.stage_of(weights["decoder.relative_bias"]), 1);
}

TEST(Stages, LayersThatAreTheSameStayTogether) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.shared_layers = SharedLayers::yes;
  EXPECT_EQ(StagePlan(config, 2).layers_of(0), (StageRanges{{0, 2}, {0, 0}}));
  expect_error<ConfigError>([&] { StagePlan(config, 3); }, {"pipeline is 3", "shared_layers"});
}

TEST(Stages, LayersWithSkipsAndSharedTablesStayTogether) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.skips = Skips::mirrored;
  EXPECT_EQ(StagePlan(config, 2).layers_of(0), (StageRanges{{0, 2}, {0, 0}}));
  expect_error<ConfigError>([&] { StagePlan(config, 3); }, {"pipeline is 3", "skips"});
  config.skips = Skips::none;
  config.value_embeddings = 1;
  expect_error<ConfigError>([&] { StagePlan(config, 3); }, {"pipeline is 3", "value_embeddings"});
  const NamedWeights weights(config);
  EXPECT_EQ(StagePlan(config, 2).stage_of(weights["encoder.value_embeddings.1"]), 0);
  EXPECT_EQ(StagePlan(config, 2).stage_of(weights["decoder.value_embeddings.1"]), 1);
}

TEST(Stages, TheHeadLayerIsWithTheLast) {
  ModelConfig config = small_config(Architecture::encoder);
  config.embedding_width = 6;
  config.head_layer = Activation::gelu;
  config.head_layer_norm = HeadLayerNorm::present;
  const NamedWeights weights(config);
  const StagePlan plan(config, 2);
  EXPECT_EQ(plan.stage_of(weights["output.layer.weight"]), 1);
  EXPECT_EQ(plan.stage_of(weights["output.layer.norm.gain"]), 1);
  EXPECT_EQ(plan.stage_of(weights["embedding.projection.weight"]), 0);
}

TEST(Stages, TheStreamAndTheMemoryCross) {
  using Rows = StagePort::Rows;
  const StagePlan plan(staged_pairs(), 3);
  EXPECT_THAT(plan.inputs_of(0), IsEmpty());
  EXPECT_THAT(plan.inputs_of(1), ElementsAre(StagePort{BoundaryTensor::residual, Rows::source},
                                             StagePort{BoundaryTensor::normed, Rows::source}));
  EXPECT_THAT(plan.inputs_of(2), ElementsAre(StagePort{BoundaryTensor::residual, Rows::target},
                                             StagePort{BoundaryTensor::normed, Rows::target},
                                             StagePort{BoundaryTensor::memory, Rows::source}));
  ModelConfig post = staged_pairs();
  post.placement = NormPlacement::post;
  post.encoder_layers = post.decoder_layers = 1;
  EXPECT_THAT(StagePlan(post, 2).inputs_of(1), ElementsAre(StagePort{BoundaryTensor::memory, Rows::source}));
}

}  // namespace
}  // namespace heed::test
