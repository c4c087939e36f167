#include "parallel/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <mutex>

#include "kernels/cpu/cpu_backend.h"
#include "models/model_testing.h"
#include "ranks/thread_transport.h"

namespace heed::test {
namespace {

constexpr Smoothing kPipelineSmoothing{0.1F};
constexpr RandomKey kPipelineKey{7};

class PipelineShard final : public Shard {
 public:
  PipelineShard(const ModelBatch& batch, Architecture architecture) : batch_(batch), architecture_(architecture) {}
  int64_t targets() const override { return batch_.pairs.expected.size(); }
  ShardTexts texts() const override {
    return architecture_ == Architecture::seq2seq ? ShardTexts{batch_.pairs.source, batch_.pairs.target}
                                                  : ShardTexts{batch_.tokens.tokens, batch_.tokens.tokens};
  }
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override {
    switch (architecture_) {
      case Architecture::seq2seq:
        return model.seq2seq().loss(pass, batch_.pairs, smoothing);
      case Architecture::causal_lm:
        return model.causal_lm().loss(pass, batch_.tokens, smoothing);
      case Architecture::encoder:
        break;
    }
    return model.encoder_only().loss(pass, batch_.tokens, smoothing);
  }
  TokenLosses loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                             Smoothing smoothing) const override {
    switch (architecture_) {
      case Architecture::seq2seq:
        return model.seq2seq().loss(pass, hidden, batch_.pairs.expected, smoothing);
      case Architecture::causal_lm:
        return model.causal_lm().loss(pass, hidden, batch_.tokens.expected, smoothing);
      case Architecture::encoder:
        break;
    }
    return model.encoder_only().loss(pass, hidden, batch_.tokens.expected, smoothing);
  }

 private:
  ModelBatch batch_;
  Architecture architecture_;
};

// Sequences of several lengths; a token occurs in many of them, and often twice in one.
ModelBatch pipeline_batch() {
  TokenLists source, target;
  std::vector<int32_t> expected, themselves;
  for (int32_t s = 0; s < 10; ++s) {
    source.emplace_back();
    target.emplace_back();
    for (int32_t t = 0; t < 2 + (s * 5) % 7; ++t) {
      source.back().push_back((s * 3 + t * t) % 11);
      themselves.push_back(t % 3 == 0 ? Targets::kIgnored : (s + t) % 11);
    }
    for (int32_t t = 0; t < 1 + (s * 3) % 8; ++t) {
      target.back().push_back((s + t * t) % 11);
      expected.push_back((s * t + 1) % 11);
    }
  }
  return {{SourceSequences(source), TargetSequences(target), Targets(expected)},
          {Sequences(source), Targets(themselves)}};
}

std::vector<std::unique_ptr<Shard>> pipeline_shards(Architecture architecture, int64_t count) {
  const ModelBatch batch = pipeline_batch();
  std::vector<std::unique_ptr<Shard>> shards;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = 10 * i / count, end = 10 * (i + 1) / count;
    shards.push_back(std::make_unique<PipelineShard>(batch.shard(first, end - first), architecture));
  }
  return shards;
}

// Everything that has to have the same bits.
struct Computed {
  std::map<std::string, std::vector<double>> gradients, values;
  std::vector<double> losses;
};

void collect(const Trainables& trainables, Computed& computed) {
  const Weights& weights = trainables.weights();
  for (size_t i = 0; i < weights.all().size(); ++i) {
    const Weight& weight = weights.all()[i];
    if (trainables.has_gradient(i)) {
      EXPECT_FALSE(computed.gradients.contains(weight.name())) << weight.name() << " is held twice";
      computed.gradients[weight.name()] = values_of(weight.trainable().gradient());
      computed.values[weight.name()] = values_of(weight.trainable().master());
    }
  }
}

void collect(const std::vector<TokenLosses>& losses, Computed& computed) {
  for (const TokenLosses& shard : losses) {
    for (int64_t row = 0; row < shard.rows(); ++row) {
      computed.losses.push_back(shard.smoothed(row));
      computed.losses.push_back(shard.negative_log_likelihood(row));
    }
  }
}

Computed compute_at_once(const ModelConfig& config, DType storage, int64_t count) {
  const auto backend = make_cpu_backend(1);
  TestModel model(*backend, storage, config);
  const auto shards = pipeline_shards(config.architecture, count);
  std::vector<TokenLosses> losses;
  model.trainables().begin_update();
  for (size_t i = 0; i < shards.size(); ++i) {
    if (i > 0) {
      model.trainables().begin_shard(*backend);
    }
    Tape tape(0.125);
    Pass pass = Pass::train(*backend, storage, tape, kPipelineKey);
    losses.push_back(shards[i]->loss(pass, model.model(), kPipelineSmoothing));
    tape.backward(*backend);
  }
  model.trainables().finish_update(*backend);
  Computed computed;
  collect(model.trainables(), computed);
  collect(losses, computed);
  return computed;
}

Computed compute_in_stages(const ModelConfig& config, DType storage, int64_t count, int stages) {
  Computed computed;
  std::mutex mutex;
  run_thread_ranks(stages, [&](Transport& transport) {
    const Ranks ranks(transport);
    const auto backend = make_cpu_backend(1);
    Weights weights;
    const AnyModel model(Scope(weights), config);
    const StagePlan plan(config, ranks.count());
    std::vector<bool> held;
    for (const Weight& weight : weights.all()) {
      held.push_back(plan.stage_of(weight.identity()) == ranks.rank());
    }
    Trainables trainables(*backend, weights, storage, Trainables::Gradients::wanted, {}, held);
    trainables.initialize(*backend, 1);
    Pipeline pipeline(ranks, *backend, storage, model, plan);
    const SliceOwners owners(trainables);
    StageExchange exchange(Ranks(), {0}, *backend, trainables, owners, DType::f32);
    StageGradients gradients(*backend, trainables, plan, DType::f32, exchange);
    const auto shards = pipeline_shards(config.architecture, count);
    std::vector<const Shard*> pointers;
    for (const auto& shard : shards) {
      pointers.push_back(shard.get());
    }
    const ShardPass pass{.loss_scale = 0.125, .key = kPipelineKey, .smoothing = kPipelineSmoothing};
    std::vector<TokenLosses> losses;
    for (int update = 0; update < 2; ++update) {  // the second one overwrites what the first left
      exchange.begin_update(count);
      losses = pipeline.accumulate_gradients(pointers, pass, gradients);
    }
    const std::lock_guard lock(mutex);
    collect(trainables, computed);
    collect(losses, computed);
  });
  return computed;
}

void expect_equal(const Computed& expected, const Computed& found) {
  ASSERT_EQ(expected.gradients.size(), found.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    ASSERT_TRUE(found.gradients.contains(name)) << name;
    EXPECT_TRUE(same_bits(expected.values.at(name), found.values.at(name))) << "value of " << name;
    EXPECT_TRUE(same_bits(gradient, found.gradients.at(name))) << "gradient of " << name;
  }
  EXPECT_TRUE(same_bits(expected.losses, found.losses)) << "losses";
}

ModelConfig pipeline_config(Architecture architecture) {
  ModelConfig config = small_config(architecture);
  config.target_vocabulary = 11;
  config.model = 16;
  config.encoder_layers = architecture == Architecture::encoder ? 4 : 3;
  config.decoder_layers = architecture == Architecture::causal_lm ? 4 : 3;
  return config;
}

std::vector<NamedConfig> pipeline_cases() {
  const ModelConfig pairs = pipeline_config(Architecture::seq2seq), text = pipeline_config(Architecture::causal_lm),
                    encoder = pipeline_config(Architecture::encoder);
  ModelConfig tied = pairs, tied_output = pairs, post = pairs, recomputed = pairs, deep_decoder = pairs,
              tied_text = text, parallel = text, tied_encoder = encoder;
  tied.tying = Tying::all;
  tied.positions = Positions::learned;
  tied.recompute = Recompute::layers;
  tied_output.tying = Tying::output;
  tied_output.embedding_norm = EmbeddingNorm::present;
  post.placement = NormPlacement::post;
  recomputed.recompute = Recompute::layers;
  recomputed.placement = NormPlacement::sandwich;
  deep_decoder.encoder_layers = 1;
  deep_decoder.decoder_layers = 5;
  deep_decoder.tying = Tying::all;
  tied_text.tying = Tying::output;
  tied_text.positions = Positions::rotary;
  tied_text.norm = NormKind::rms;
  tied_text.gating = Gating::gated;
  parallel.branches = Branches::parallel;
  parallel.final_norm = FinalNorm::none;
  tied_encoder.tying = Tying::output;
  tied_encoder.embedding_norm = EmbeddingNorm::present;
  tied_encoder.placement = NormPlacement::post;
  ModelConfig recurrent = post, narrow = tied_encoder, scaled = tied_text;
  recurrent.autoregression = Autoregression::ssru;
  recurrent.sinusoid = SinusoidLayout::halves;
  recurrent.position_offset = 1;
  narrow.positions = Positions::learned;
  narrow.position_offset = 2;
  narrow.embedding_width = 6;
  narrow.head_layer = Activation::gelu;
  narrow.head_layer_norm = HeadLayerNorm::present;
  scaled.norm_gain = NormGain::plus_one;
  scaled.attention_scale = 0.4;
  scaled.output_scale = 0.3;
  return {{"RecurrentDecoder", recurrent},
          {"NarrowEmbeddingsAndAHeadLayer", narrow},
          {"ScaledScoresAndOutputs", scaled},
          {"Pairs", pairs},
          {"TiedPairs", tied},
          {"PairsWithATiedOutput", tied_output},
          {"PostNorm", post},
          {"Recomputed", recomputed},
          {"DeepDecoder", deep_decoder},
          {"Text", text},
          {"TiedText", tied_text},
          {"ParallelBranches", parallel},
          {"Encoder", encoder},
          {"TiedEncoder", tied_encoder}};
}

class InStages : public testing::TestWithParam<NamedConfig> {};
INSTANTIATE_TEST_SUITE_P(Models, InStages, testing::ValuesIn(pipeline_cases()), name_of_case);

TEST_P(InStages, GradientsAndLossesHaveTheBitsOfOneProcess) {
  for (const DType storage : {DType::f32, DType::bf16}) {
    for (const int64_t shards : {1, 5}) {
      const Computed expected = compute_at_once(GetParam().config, storage, shards);
      for (const int stages : {1, 2, 3, 4}) {
        SCOPED_TRACE(fmt::format("{}, {} shards, {} stages", name_of(storage), shards, stages));
        expect_equal(expected, compute_in_stages(GetParam().config, storage, shards, stages));
      }
    }
  }
}

}  // namespace
}  // namespace heed::test
