#include "plan/model_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/profiled_backend.h"
#include "nn/weights/trainables.h"
#include "ops/tape.h"
#include "plan/random_batch.h"

namespace heed {
namespace {

ModelConfig small(Architecture architecture) {
  ModelConfig config;
  config.architecture = architecture;
  config.model = 48;
  config.inner = 80;
  config.heads = 4;
  config.encoder_layers = 2;
  config.decoder_layers = 3;
  config.source_vocabulary = 70;
  config.target_vocabulary = 90;
  config.max_length = 64;
  return config;
}

struct Case {
  std::string name;
  ModelConfig config;
};

// Every choice that changes what is computed or saved, for each architecture that has it.
std::vector<Case> cases() {
  using Change = std::pair<std::string, void (*)(ModelConfig&)>;
  const std::vector<Change> changes{
      {"as it is", [](ModelConfig&) {}},
      {"post-norm", [](ModelConfig& c) { c.placement = NormPlacement::post; }},
      {"post-norm without a final norm",
       [](ModelConfig& c) {
         c.placement = NormPlacement::post;
         c.final_norm = FinalNorm::none;
       }},
      {"without a final norm", [](ModelConfig& c) { c.final_norm = FinalNorm::none; }},
      {"rms", [](ModelConfig& c) { c.norm = NormKind::rms; }},
      {"no biases",
       [](ModelConfig& c) {
         c.bias = Bias::none;
         c.output_bias = Bias::none;
       }},
      {"sandwich norms", [](ModelConfig& c) { c.placement = NormPlacement::sandwich; }},
      {"branch norms", [](ModelConfig& c) { c.placement = NormPlacement::branch; }},
      {"branch norms without a final norm",
       [](ModelConfig& c) {
         c.placement = NormPlacement::branch;
         c.final_norm = FinalNorm::none;
       }},
      {"biases of some parts",
       [](ModelConfig& c) {
         c.bias = Bias::none;
         c.attention_bias = AttentionBias::inputs;
         c.norm_bias = PartBias::all;
       }},
      {"biases of other parts",
       [](ModelConfig& c) {
         c.attention_bias = AttentionBias::none;
         c.feed_forward_bias = PartBias::none;
       }},
      {"parallel",
       [](ModelConfig& c) {
         if (c.architecture != Architecture::seq2seq) {
           c.branches = Branches::parallel;
         }
       }},
      {"parallel with own norms",
       [](ModelConfig& c) {
         if (c.architecture != Architecture::seq2seq) {
           c.branches = Branches::parallel_own_norms;
         }
       }},
      {"parallel with own norms, recomputed",
       [](ModelConfig& c) {
         if (c.architecture != Architecture::seq2seq) {
           c.branches = Branches::parallel_own_norms;
           c.recompute = Recompute::layers;
         }
       }},
      {"layers that differ",
       [](ModelConfig& c) {
         c.inner = {80, 40};
         c.key_value_heads = {1, 4};
         c.positions = Positions::rotary;
         c.rotary_base = {0.0, 1e4};
         c.head_norm = HeadNorm::all_heads;
       }},
      {"stacks that differ",
       [](ModelConfig& c) {
         const LayerPattern local{{HeadPattern::Kind::local, 4}}, strided{{HeadPattern::Kind::strided, 3}};
         if (c.architecture == Architecture::seq2seq) {
           c.encoder_attention = {local};
           c.decoder_attention = {strided, local};
         }
       }},
      {"embedding norms", [](ModelConfig& c) { c.embedding_norm = EmbeddingNorm::present; }},
      {"norms of heads",
       [](ModelConfig& c) {
         c.head_norm = HeadNorm::each_head;
         c.key_value_heads = 2;
       }},
      {"norms of all heads, by the root of the mean square",
       [](ModelConfig& c) {
         c.head_norm = HeadNorm::all_heads;
         c.norm = NormKind::rms;
         c.positions = Positions::rotary;
       }},
      {"norms of heads, recomputed",
       [](ModelConfig& c) {
         c.head_norm = HeadNorm::each_head;
         c.recompute = Recompute::layers;
       }},
      {"caps",
       [](ModelConfig& c) {
         c.logit_cap = 30.0;
         c.attention_cap = 50.0;
       }},
      {"wide values", [](ModelConfig& c) { c.value_width = 20; }},
      {"narrow values of fewer heads",
       [](ModelConfig& c) {
         c.value_width = 4;
         c.key_value_heads = 2;
         c.head_norm = HeadNorm::each_head;
       }},
      {"gelu", [](ModelConfig& c) { c.activation = Activation::gelu; }},
      {"gated",
       [](ModelConfig& c) {
         c.activation = Activation::silu;
         c.gating = Gating::gated;
       }},
      {"learned positions", [](ModelConfig& c) { c.positions = Positions::learned; }},
      {"rotary", [](ModelConfig& c) { c.positions = Positions::rotary; }},
      {"alibi", [](ModelConfig& c) { c.positions = Positions::alibi; }},
      {"relative keys", [](ModelConfig& c) { c.positions = Positions::relative_keys; }},
      {"relative keys and values",
       [](ModelConfig& c) {
         c.positions = Positions::relative_keys_values;
         c.relative_clip = 3;
         c.value_width = 9;
       }},
      {"relative bias", [](ModelConfig& c) { c.positions = Positions::relative_bias; }},
      {"grouped heads",
       [](ModelConfig& c) {
         c.key_value_heads = 2;
         c.head_width = 20;
       }},
      {"window", [](ModelConfig& c) { c.window = 5; }},
      {"patterns",
       [](ModelConfig& c) {
         c.attention = {{{HeadPattern::Kind::local, 4}, {HeadPattern::Kind::strided, 3}}, {{}}};
       }},
      {"linear",
       [](ModelConfig& c) {
         const LayerPattern linear{HeadPattern{HeadPattern::Kind::linear}};
         c.attention = {linear, LayerPattern{HeadPattern{}}};
       }},
      {"tied output", [](ModelConfig& c) { c.tying = Tying::output; }},
      {"recomputed", [](ModelConfig& c) { c.recompute = Recompute::layers; }},
      {"recomputed post-norm",
       [](ModelConfig& c) {
         c.recompute = Recompute::layers;
         c.placement = NormPlacement::post;
       }},
      {"recomputed without a final norm",
       [](ModelConfig& c) {
         c.recompute = Recompute::layers;
         c.final_norm = FinalNorm::none;
       }},
  };
  std::vector<Case> all;
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm, Architecture::encoder}) {
    for (const auto& [name, change] : changes) {
      Case one{fmt::format("{} {}", static_cast<int>(architecture), name), small(architecture)};
      change(one.config);
      all.push_back(one);
    }
  }
  Case shared{"all tied", small(Architecture::seq2seq)};
  shared.config.source_vocabulary = shared.config.target_vocabulary;
  shared.config.tying = Tying::all;
  all.push_back(shared);
  for (const Head head : {Head::one_label, Head::several_labels, Head::number, Head::token_labels}) {
    Case labels{fmt::format("labels {}", static_cast<int>(head)), small(Architecture::encoder)};
    labels.config.head = head;
    labels.config.labels = {"a", "b", "c"};
    labels.config.token_types = 2;
    all.push_back(labels);
  }
  return all;
}

PlanBatch batch_for(const ModelConfig& config) {
  return {.sequences = 6,
          .source_length = config.architecture == Architecture::causal_lm ? 0 : 11,
          .target_length = config.architecture == Architecture::encoder ? 0 : 13};
}

struct Measured {
  double forward_flops = 0.0, training_flops = 0.0;
  int64_t peak_bytes = 0, kept_bytes = 0;
};

// A real training step, counted.
Measured measure(const ModelConfig& config, const PlanBatch& batch, DType storage) {
  const std::unique_ptr<Backend> backend = make_cpu_backend(1);
  Weights weights;
  const AnyModel model(Scope(weights), config);
  Trainables trainables(*backend, weights, storage);
  trainables.initialize(*backend, 1);
  const RandomBatch tokens(config, batch, 1);
  Profile profile;
  const std::unique_ptr<Backend> counting = make_profiled_backend(*backend, profile);
  trainables.begin_update();
  Measured measured;
  Pass forward = Pass::infer(*counting, storage);
  tokens.loss(forward, model, Smoothing{0.1F});
  measured.forward_flops = profile.flops();
  profile = {};
  Tape tape;
  Pass pass = Pass::train(*counting, storage, tape, RandomKey{1});
  const TokenLosses losses = tokens.loss(pass, model, Smoothing{0.1F});
  measured.kept_bytes = backend->arena().bytes_in_use();
  tape.backward(*counting);
  measured.training_flops = profile.flops();
  measured.peak_bytes = backend->arena().peak_bytes();
  return measured;
}

TEST(ModelCost, ParametersAreExactForEachArchitecture) {
  for (const auto& [name, config] : cases()) {
    config.validate();
    Weights weights;
    const AnyModel model(Scope(weights), config);
    EXPECT_EQ(cost_of(config, batch_for(config), DType::f32).parameters, weights.elements()) << name;
  }
}

TEST(ModelCost, FlopsEqualThoseThatTheProfilerCounts) {
  for (const auto& [name, config] : cases()) {
    const ModelCost cost = cost_of(config, batch_for(config), DType::f32);
    const Measured measured = measure(config, batch_for(config), DType::f32);
    EXPECT_EQ(cost.forward_flops, measured.forward_flops) << name;
    EXPECT_EQ(cost.training_flops, measured.training_flops) << name;
  }
}

TEST(ModelCost, ActivationBytesAreThoseOfTheArenaAtThePeakAndBeforeBackward) {
  for (const auto& [name, config] : cases()) {
    for (const DType storage : {DType::f32, DType::bf16}) {
      const PlanBatch batch = batch_for(config);
      const ModelCost predicted = cost_of(config, batch, storage);
      const Measured measured = measure(config, batch, storage);
      EXPECT_EQ(predicted.activation_bytes, measured.peak_bytes) << name << " in " << name_of(storage);
      EXPECT_EQ(predicted.kept_bytes, measured.kept_bytes) << name << " in " << name_of(storage);
    }
  }
}

}  // namespace
}  // namespace heed
