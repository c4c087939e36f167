// What a model begins with, by each value of model.init that a write-up asks for.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"
#include "nn/weights/trainables.h"

namespace heed {
namespace {

constexpr int64_t kModel = 64, kVocabulary = 1000;

struct FreshModel {
  explicit FreshModel(InitScheme init, BranchStart branches = BranchStart::random)
      : model(Scope(weights), {.architecture = Architecture::causal_lm,
                               .model = kModel,
                               .inner = 128,
                               .heads = 4,
                               .decoder_layers = 2,
                               .target_vocabulary = kVocabulary,
                               .max_length = 64,
                               .placement = NormPlacement::post,
                               .final_norm = FinalNorm::none,
                               .embedding_scale = EmbeddingScale::none,
                               .init = init,
                               .branch_init = branches}),
        trainables(*backend, weights, DType::f32, Trainables::Gradients::none) {
    trainables.initialize(*backend, 5);
  }

  struct Spread {
    double mean = 0.0, deviation = 0.0, largest = 0.0;
  };
  Spread spread(std::string_view name) {
    const View values = trainables.find(name).master();
    const auto host_values = host<float>(values);
    Spread found;
    double squares = 0.0;
    for (int64_t r = 0; r < values.rows(); ++r) {
      for (int64_t c = 0; c < values.columns(); ++c) {
        const auto value = static_cast<double>(host_values(r, c));
        found.mean += value;
        squares += value * value;
        found.largest = std::max(found.largest, std::abs(value));
      }
    }
    const auto count = static_cast<double>(values.elements());
    found.mean /= count;
    found.deviation = std::sqrt(squares / count - found.mean * found.mean);
    return found;
  }

  // Per token, of random text.
  double loss() {
    std::vector<std::vector<int32_t>> tokens(8);
    std::vector<int32_t> expected;
    uint64_t draw = 0;
    const auto token = [&draw] {
      return static_cast<int32_t>(uniform_draw(RandomKey{9}, draw++) * static_cast<double>(kVocabulary));
    };
    for (std::vector<int32_t>& sequence : tokens) {
      for (int i = 0; i < 60; ++i) {
        sequence.push_back(token());
        expected.push_back(token());
      }
    }
    const TokenBatch batch{Sequences(tokens), Targets(expected)};
    Pass pass = Pass::infer(*backend, DType::f32);
    const TokenLosses losses = model.causal_lm().loss(pass, batch, Smoothing{});
    return losses.total_negative_log_likelihood() / static_cast<double>(losses.counted());
  }

  std::unique_ptr<Backend> backend = make_cpu_backend(1);
  Weights weights;
  AnyModel model;
  Trainables trainables;
};

void expect_uniform(const FreshModel::Spread& found, double limit) {
  EXPECT_LE(found.largest, limit);
  EXPECT_GT(found.largest, 0.9 * limit);
  EXPECT_NEAR(found.deviation, limit / std::numbers::sqrt3, 0.15 * limit);
  EXPECT_NEAR(found.mean, 0.0, 0.2 * limit);
}

TEST(InitialValues, OfPyTorchAreUniformByInputsAndNormalForEmbeddings) {
  FreshModel fresh(InitScheme::pytorch);
  expect_uniform(fresh.spread("decoder.layers.0.attention.projection.weight"), 1.0 / 8.0);
  expect_uniform(fresh.spread("decoder.layers.0.attention.projection.bias"), 1.0 / 8.0);
  expect_uniform(fresh.spread("decoder.layers.1.feed_forward.output.weight"), 1.0 / std::sqrt(128.0));
  expect_uniform(fresh.spread("decoder.layers.1.feed_forward.output.bias"), 1.0 / std::sqrt(128.0));
  expect_uniform(fresh.spread("output.weight"), 1.0 / 8.0);
  expect_uniform(fresh.spread("output.bias"), 1.0 / 8.0);
  const FreshModel::Spread embedding = fresh.spread("embedding.tokens");
  EXPECT_NEAR(embedding.deviation, 1.0, 0.02);
  EXPECT_GT(embedding.largest, 3.5);
  EXPECT_EQ(fresh.spread("decoder.layers.0.attention.norm.gain").mean, 1.0);
  EXPECT_EQ(fresh.spread("decoder.layers.0.attention.norm.bias").largest, 0.0);
}

TEST(InitialValues, OfXavierAllAreUniformForMatricesAndEmbeddings) {
  FreshModel fresh(InitScheme::xavier_all);
  expect_uniform(fresh.spread("embedding.tokens"), std::sqrt(6.0 / (kVocabulary + kModel)));
  expect_uniform(fresh.spread("output.weight"), std::sqrt(6.0 / (kVocabulary + kModel)));
  expect_uniform(fresh.spread("decoder.layers.0.feed_forward.inner.weight"), std::sqrt(6.0 / (128 + kModel)));
  EXPECT_EQ(fresh.spread("output.bias").largest, 0.0);
}

TEST(InitialValues, OfBranchesMayBeZero) {
  for (const InitScheme init : {InitScheme::xavier, InitScheme::normal, InitScheme::pytorch}) {
    FreshModel fresh(init, BranchStart::zero);
    for (const std::string part : {"attention.output", "feed_forward.output"}) {
      for (const std::string term : {"weight", "bias"}) {
        EXPECT_EQ(fresh.spread("decoder.layers.1." + part + "." + term).largest, 0.0) << part << " " << term;
      }
    }
    EXPECT_GT(fresh.spread("decoder.layers.1.feed_forward.inner.weight").largest, 0.0);
    EXPECT_GT(fresh.spread("output.weight").largest, 0.0);
  }
}

// The last norm's rows have variance 1 in each column, so that logits have that of the output's columns, summed:
// v = model / (3 model) or 2 model / (vocabulary + model). The mean of log(sum of exponentials) is then about
// log(vocabulary) + v / 2, and that of the logits is 0.
TEST(InitialValues, GiveALossOfLnVPlusHalfTheLogitsVariance) {
  EXPECT_NEAR(FreshModel(InitScheme::pytorch).loss(), std::log(1000.0) + 1.0 / 6.0, 0.08);
  EXPECT_NEAR(FreshModel(InitScheme::xavier_all).loss(), std::log(1000.0) + 64.0 / 1064.0, 0.05);
}

}  // namespace
}  // namespace heed
