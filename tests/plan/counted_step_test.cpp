#include "plan/counted_step.h"

#include <gtest/gtest.h>

#include <span>

#include "decode/steppers/stepper.h"
#include "kernels/counting/counting_backend.h"
#include "kernels/cpu/cpu_backend.h"
#include "nn/weights/trainables.h"

namespace heed {
namespace {

ModelConfig seven_billion() {
  ModelConfig config;
  config.architecture = Architecture::causal_lm;
  config.model = 4096;
  config.inner = 11008;
  config.heads = 32;
  config.decoder_layers = 32;
  config.target_vocabulary = 32000;
  config.max_length = 4096;
  config.activation = Activation::silu;
  config.gating = Gating::gated;
  config.norm = NormKind::rms;
  config.bias = config.output_bias = Bias::none;
  config.positions = Positions::rotary;
  return config;
}

TEST(CountedStep, AModelThatNoMemoryHoldsIsCounted) {
  const PlanBatch batch{.sequences = 4, .target_length = 4096};
  const CountedStep step = count_step(seven_billion(), {}, batch, DType::bf16);
  int64_t parameters = 0;
  for (const CountedWeight& weight : step.weights) {
    parameters += weight.elements;
  }
  EXPECT_EQ(parameters, 6'738'415'616);  // as published
  EXPECT_GT(step.peak_bytes, int64_t{64} << 30);
}

TEST(CountedStep, BatchesOfVeryManyTokensCostInProportionToTheirSequences) {
  ModelConfig config = seven_billion();
  config.decoder_layers = 2;
  const CountedStep few = count_step(config, {}, {.sequences = 64, .target_length = 4096}, DType::bf16);
  const CountedStep many = count_step(config, {}, {.sequences = 64'000'000, .target_length = 4096}, DType::bf16);
  EXPECT_DOUBLE_EQ(many.forward_flops, 1e6 * few.forward_flops);
  EXPECT_DOUBLE_EQ(many.training_flops, 1e6 * few.training_flops);
  EXPECT_NEAR(static_cast<double>(many.peak_bytes), 1e6 * static_cast<double>(few.peak_bytes), 1e6);
}

TEST(CountedStep, SumsOverSharesAreThoseThatTheModelAsksFor) {
  ModelConfig config = seven_billion();
  config.decoder_layers = 3;
  const PlanBatch batch{.sequences = 1, .target_length = 512};
  const CountedStep whole = count_step(config, {}, batch, DType::bf16);
  EXPECT_EQ(whole.sums, 0);
  for (const int shares : {2, 8}) {
    const CountedStep share = count_step(config, {.shares = shares}, batch, DType::bf16);
    // Two in each layer, forward and backward; the embedding's, and that of the logits' gradient.
    EXPECT_EQ(share.sums, 3 * 4 + 2);
    EXPECT_DOUBLE_EQ(share.summed_bytes, (3 * 4 + 2) * 512.0 * 4096 * 2);
    EXPECT_DOUBLE_EQ(share.training_flops * shares, whole.training_flops);
  }
}

// The first tokens of two sequences, and two more steps.
Profile decode(Backend& backend, Profile& profile, Weights& weights, const AnyModel& model) {
  weights.store_initial(backend, DType::f32, 1);
  const Inference inference{model, backend, DType::f32};
  const std::unique_ptr<Stepper> stepper = make_stepper(inference);
  const bool reads = model.config().architecture == Architecture::seq2seq;
  const std::vector<int32_t> source = reads ? std::vector<int32_t>{3, 4, 5} : std::vector<int32_t>{};
  const std::vector<SequenceId> sequences = stepper->begin(std::vector{source, source});
  const std::vector<int32_t> tokens{7, 8};
  for (int step = 0; step < 3; ++step) {
    const std::vector<NewTokens> added{{sequences[0], tokens}, {sequences[1], std::span(tokens).first(1)}};
    EXPECT_EQ(stepper->next(added).log_probs.rows, 2);
  }
  return std::exchange(profile, {});
}

TEST(CountingBackend, StepsOfDecodingCountAsOnTheProcessor) {
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm}) {
    for (const Positions positions : {Positions::sinusoidal, Positions::rotary, Positions::relative_bias}) {
      ModelConfig config;
      config.architecture = architecture;
      config.model = 32;
      config.inner = 48;
      config.heads = 4;
      config.encoder_layers = config.decoder_layers = 2;
      config.source_vocabulary = config.target_vocabulary = 50;
      config.positions = positions;
      Weights weights;
      const AnyModel model(Scope(weights), config);
      Profile profile;
      const std::unique_ptr<Backend> cpu = make_profiled_backend(make_cpu_backend(1), profile);
      const Profile measured = decode(*cpu, profile, weights, model);
      const std::unique_ptr<Backend> counting = make_counting_backend(profile);
      const Profile counted = decode(*counting, profile, weights, model);
      EXPECT_EQ(counted.flops(), measured.flops());
      EXPECT_EQ(counted.products, measured.products);
      EXPECT_GT(counted.flops(), 0.0);
      for (const auto& [op, cost] : measured.ops) {
        ASSERT_TRUE(counted.ops.contains(op)) << op;
        EXPECT_EQ(counted.ops.at(op).calls, cost.calls) << op;
      }
    }
  }
}

}  // namespace
}  // namespace heed
