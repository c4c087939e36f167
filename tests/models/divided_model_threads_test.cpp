// A model whose matrices ranks divide among them: its losses and gradients are those of the whole model.
#include <mutex>

#include "kernels/cpu/cpu_backend.h"
#include "models/model_testing.h"
#include "ranks/thread_transport.h"

namespace heed::test {
namespace {

using MakeBackend = std::unique_ptr<Backend> (*)();
std::unique_ptr<Backend> reference_in_double() { return make_reference_backend(); }
std::unique_ptr<Backend> cpu_of_one_thread() { return make_cpu_backend(1); }

// Six heads and six pairs of columns of heads, so that two and three ranks can share them; dropout everywhere.
ModelConfig divisible(Architecture architecture) {
  ModelConfig config = small_config(architecture);
  config.model = 12;
  config.heads = 6;
  config.inner = 96;
  return config;
}

// What a rank found: the loss, and each weight's gradient.
struct Found {
  double loss = 0.0, likelihood = 0.0;
  std::vector<std::vector<double>> gradients;
};

// Two shards with other draws for other rows, as in an update.
Found differentiate(Backend& backend, DType storage, const ModelConfig& config, const Parts& parts) {
  TestModel model(backend, storage, config, 1, parts);
  const ModelBatch batch = ModelBatch::small();
  const ModelBatch first = batch.shard(0, 2), second = batch.shard(2, 1);
  model.trainables().begin_update();
  const TokenLosses before = model.contribute(first, 0.25);
  model.trainables().begin_shard(backend);
  const TokenLosses after = model.contribute(second, 0.25);
  model.trainables().finish_update(backend);
  Found found{before.total_smoothed() + after.total_smoothed(),
              before.total_negative_log_likelihood() + after.total_negative_log_likelihood(),
              {}};
  for (const Weight& weight : model.weights().all()) {
    found.gradients.push_back(values_of(weight.trainable().gradient()));
  }
  return found;
}

// The largest difference between a rank's gradient and its part of the whole's, relative to that weight's largest.
double furthest(const Weights& parts, size_t weight, const std::vector<double>& own, const std::vector<double>& whole) {
  double largest = 0.0, difference = 0.0;
  for (const double value : whole) {
    largest = std::max(largest, std::abs(value));
  }
  parts.own_elements(weight).each_stretch([&](int64_t first, int64_t of_whole, int64_t count) {
    for (int64_t e = 0; e < count; ++e) {
      const double expected = whole[static_cast<size_t>(of_whole + e)];
      difference = std::max(difference, std::abs(own[static_cast<size_t>(first + e)] - expected));
    }
  });
  return largest > 0.0 ? difference / largest : difference;
}

void expect_gradients(const Found& whole, const Found& own, const ModelConfig& config, const Parts& parts,
                      double tolerance) {
  EXPECT_NEAR(own.loss, whole.loss, tolerance * std::abs(whole.loss));
  EXPECT_NEAR(own.likelihood, whole.likelihood, tolerance * std::abs(whole.likelihood));
  Weights weights(parts);
  const AnyModel model(Scope(weights), config);
  ASSERT_EQ(own.gradients.size(), whole.gradients.size());
  for (size_t i = 0; i < own.gradients.size(); ++i) {
    EXPECT_LE(furthest(weights, i, own.gradients[i], whole.gradients[i]), tolerance) << weights.all()[i].name();
  }
}

struct Precision {
  MakeBackend backend;
  DType storage;
  double tolerance;
};
constexpr double kInDouble = 1e-11;

void expect_same_as_whole(const ModelConfig& config, int ranks,
                          const Precision& precision = {reference_in_double, DType::f64, kInDouble}) {
  const auto backend = precision.backend();
  const Found whole = differentiate(*backend, precision.storage, config, Parts());
  std::mutex mutex;
  std::vector<Found> all(static_cast<size_t>(ranks));
  run_thread_ranks(ranks, [&](Transport& transport) {
    const Parts parts{Ranks(transport)};
    const auto own_backend = precision.backend();
    Found own = differentiate(*own_backend, precision.storage, config, parts);
    const std::lock_guard lock(mutex);
    expect_gradients(whole, own, config, parts, precision.tolerance);
    all[static_cast<size_t>(transport.rank())] = std::move(own);
  });
  // What is not divided has the same bits everywhere.
  Weights weights;
  const AnyModel model(Scope(weights), config);
  for (const Found& found : all) {
    EXPECT_EQ(found.loss, all.front().loss);
    for (size_t i = 0; i < weights.all().size(); ++i) {
      if (weights.division(i).kind == Division::Kind::none ||
          weights.division(i).kind == Division::Kind::shared_by_heads) {
        EXPECT_TRUE(same_bits(found.gradients[i], all.front().gradients[i])) << weights.all()[i].name();
      }
    }
  }
}

TEST(DividedModel, GradientsAreThoseOfTheWholeModelInAllArchitectures) {
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm, Architecture::encoder}) {
    for (const int ranks : {2, 3}) {
      expect_same_as_whole(divisible(architecture), ranks);
    }
  }
}

TEST(DividedModel, GradientsAreThoseOfTheWholeModelWithTiedEmbeddings) {
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm, Architecture::encoder}) {
    ModelConfig config = divisible(architecture);
    config.tying = Tying::output;
    expect_same_as_whole(config, 2);
    if (architecture == Architecture::seq2seq) {
      config.tying = Tying::all;
      config.source_vocabulary = config.target_vocabulary;
      expect_same_as_whole(config, 3);
    }
  }
}

TEST(DividedModel, GradientsAreThoseOfTheWholeModelInF32AndBf16) {
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm, Architecture::encoder}) {
    ModelConfig config = divisible(architecture);
    expect_same_as_whole(config, 2, {cpu_of_one_thread, DType::f32, 2e-5});
    config.activation = Activation::gelu;  // ReLU's slope jumps where bf16 rounds to another side of zero
    expect_same_as_whole(config, 3, {cpu_of_one_thread, DType::bf16, 0.04});
  }
}

TEST(DividedModel, GradientsAreThoseOfTheWholeModelWithAllKindsOfPositions) {
  for (const Positions positions :
       {Positions::none, Positions::learned, Positions::rotary, Positions::alibi, Positions::relative_bias,
        Positions::relative_keys, Positions::relative_keys_values}) {
    ModelConfig config = divisible(Architecture::seq2seq);
    config.positions = positions;
    expect_same_as_whole(config, 2);
  }
}

TEST(DividedModel, GradientsAreThoseOfTheWholeModelInModernLanguageModels) {
  ModelConfig config = divisible(Architecture::causal_lm);
  config.heads = 6;
  config.key_value_heads = 3;
  config.value_width = 4;
  config.gating = Gating::gated;
  config.activation = Activation::silu;
  config.norm = NormKind::rms;
  config.head_norm = HeadNorm::each_head;
  config.positions = Positions::rotary;
  config.logit_cap = 5.0;
  config.bias = Bias::none;
  expect_same_as_whole(config, 3);
  config.branches = Branches::parallel;
  config.recompute = Recompute::layers;
  expect_same_as_whole(config, 3);
  config.branches = Branches::parallel_own_norms;
  config.key_value_heads = {3, 6};
  config.inner = {96, 48};
  config.rotary_base = {1e4, 0.0};
  expect_same_as_whole(config, 3);
}

TEST(DividedModel, GradientsAreThoseOfTheWholeModelWithARecurrentDecoder) {
  ModelConfig config = divisible(Architecture::seq2seq);
  config.autoregression = Autoregression::ssru;
  expect_same_as_whole(config, 2);
}

TEST(DividedModel, GradientsAreThoseOfTheWholeModelWithNarrowEmbeddingsAndAHeadLayer) {
  ModelConfig config = divisible(Architecture::encoder);
  config.positions = Positions::learned_relative_bias;
  config.position_offset = 2;
  config.embedding_width = 10;
  config.head_layer = Activation::gelu;
  config.head_layer_norm = HeadLayerNorm::present;
  config.norm_gain = NormGain::plus_one;
  config.attention_scale = 0.4;
  config.output_scale = 0.7;
  config.tying = Tying::output;
  expect_same_as_whole(config, 3);
}

TEST(DividedModel, GradientsAreThoseOfTheWholeModelInPostNormWithRecomputation) {
  ModelConfig config = divisible(Architecture::seq2seq);
  config.placement = NormPlacement::post;
  config.recompute = Recompute::layers;
  expect_same_as_whole(config, 2);
}

TEST(DividedModel, HeadsKeepTheirPatternsAndDraws) {
  ModelConfig config = divisible(Architecture::causal_lm);
  const HeadPattern local{HeadPattern::Kind::local, 2}, strided{HeadPattern::Kind::strided, 2}, full{};
  config.attention = {{local, strided}, {full}, {{HeadPattern::Kind::linear, 0}}};
  config.decoder_layers = 3;
  expect_same_as_whole(config, 2);  // each rank has one of the patterns
  config.heads = 4;
  config.model = 16;
  config.inner = 64;
  expect_same_as_whole(config, 4);  // two ranks share one
  config.attention = {{local, strided, full, {HeadPattern::Kind::local, 3}}};
  expect_same_as_whole(config, 2);  // each rank has two
}

TEST(DividedModel, LargeActivationsAreSummedRowsByRowsAmongManyRanks) {
  ModelConfig config = divisible(Architecture::causal_lm);
  config.decoder_layers = 1;
  config.max_length = 3000;
  config.embedding_dropout = config.attention_dropout = config.branch_dropout = Probability(0.0F);
  const std::vector<std::vector<int32_t>> one{std::vector<int32_t>(2003, 3)};
  const auto loss_of = [&](const Parts& parts) {
    const auto backend = make_cpu_backend(1);
    TestModel model(*backend, DType::f32, config, 1, parts);
    const TokenBatch batch{Sequences(one), Targets(std::vector<int32_t>(2003, 4))};
    Pass pass = Pass::infer(*backend, DType::f32);
    return model.causal_lm().loss(pass, batch, Smoothing(0.1F)).total_smoothed();
  };
  const double whole = loss_of(Parts());
  run_thread_ranks(3,
                   [&](Transport& transport) { EXPECT_NEAR(loss_of(Parts{Ranks(transport)}), whole, 1e-5 * whole); });
}

TEST(DividedModel, RefusesWhatRanksCantShare) {
  const auto refused = [](const ModelConfig& config, int64_t parts, const std::string& why) {
    try {
      require_divisible(config, parts);
      ADD_FAILURE() << "not refused: " << why;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(why));
    }
  };
  ModelConfig config = divisible(Architecture::seq2seq);
  EXPECT_NO_THROW(require_divisible(config, 1));
  EXPECT_NO_THROW(require_divisible(config, 3));
  refused(config, 4, "tensor 4 does not divide 6 heads");
  config.key_value_heads = 2;
  refused(config, 3, "tensor 3 does not divide 2 heads of keys");
  config.inner = 33;
  refused(config, 2, "tensor 2 does not divide 33 inner columns");
  config.inner = 36;
  refused(config, 2, "tensor 2 leaves each rank 18 inner columns, but inner_dropout needs a multiple of 16");
  config.inner_dropout = Probability(0.0F);
  EXPECT_NO_THROW(require_divisible(config, 2));
  config.inner = {36, 33};
  refused(config, 2, "tensor 2 does not divide 33 inner columns");
  config.inner = 36;
  config.key_value_heads = {6, 3};
  refused(config, 2, "tensor 2 does not divide 3 heads of keys");
  config.key_value_heads = 2;
  config.head_norm = HeadNorm::all_heads;
  refused(config, 2, "tensor 2 does not go with qk_norm = \"all\"");
  config = divisible(Architecture::causal_lm);
  config.target_vocabulary = 2;
  refused(config, 3, "tensor 3 is more than the vocabulary of 2");
  config = divisible(Architecture::causal_lm);
  config.attention = {{{}, {HeadPattern::Kind::local, 2}}};
  refused(config, 3, "tensor 3 does not divide attention \"full+local:2\" of 2 patterns");
}

}  // namespace
}  // namespace heed::test
