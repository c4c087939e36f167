// Ranks that share a model hold and send what is counted for them.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "kernels/cpu/cpu_backend.h"
#include "nn/weights/trainables.h"
#include "ops/tape.h"
#include "parallel/pipeline.h"
#include "plan/counted_step.h"
#include "plan/random_batch.h"
#include "ranks/thread_transport.h"

namespace heed {
namespace {

constexpr uint64_t kSharedSeed = 1;
constexpr Smoothing kSharedSmoothing{0.1F};

ModelConfig shared_model(Architecture architecture) {
  ModelConfig config;
  config.architecture = architecture;
  config.model = 48;
  config.inner = 128;
  config.heads = 4;
  config.encoder_layers = 3;
  config.decoder_layers = 5;
  config.source_vocabulary = 70;
  config.target_vocabulary = 90;
  config.max_length = 64;
  return config;
}

PlanBatch shared_batch(const ModelConfig& config) {
  return {.sequences = 8,
          .source_length = config.architecture == Architecture::causal_lm ? 0 : 10,
          .target_length = config.architecture == Architecture::encoder ? 0 : 12};
}

struct Held {
  int64_t peak_bytes = 0, sent_bytes = 0;
};

// What each rank held in a real step of a pipeline.
std::map<int, Held> run_in_stages(const ModelConfig& config, int stages) {
  std::map<int, Held> held;
  std::mutex mutex;
  run_thread_ranks(stages, [&](Transport& transport) {
    const Ranks ranks(transport);
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    Weights weights;
    const AnyModel model(Scope(weights), config);
    const StagePlan plan(config, stages);
    std::vector<bool> here;
    for (const Weight& weight : weights.all()) {
      here.push_back(plan.stage_of(weight.identity()) == ranks.rank());
    }
    Trainables trainables(*backend, weights, DType::bf16, Trainables::Gradients::wanted, {}, here);
    trainables.initialize(*backend, kSharedSeed);
    Pipeline pipeline(ranks, *backend, DType::bf16, model, plan);
    const SliceOwners owners(trainables);
    StageExchange exchange(Ranks(), {0}, *backend, trainables, owners, DType::f32);
    StageGradients gradients(*backend, trainables, plan, DType::f32, exchange);
    const RandomBatch batch(config, shared_batch(config), kSharedSeed);
    const std::vector<const Shard*> shards{&batch};
    exchange.begin_update(1);
    (void)pipeline.accumulate_gradients(shards, {.smoothing = kSharedSmoothing}, gradients);
    const std::lock_guard lock(mutex);
    held[ranks.rank()] = {backend->arena().peak_bytes(), ranks.bytes_sent()};
  });
  return held;
}

// What the last of the ranks that share each matrix held.
Held run_in_shares(const ModelConfig& config, int shares) {
  Held held;
  run_thread_ranks(shares, [&](Transport& transport) {
    const Ranks ranks(transport);
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    Weights weights{Parts(ranks)};
    const AnyModel model(Scope(weights), config);
    Trainables trainables(*backend, weights, DType::bf16);
    trainables.initialize(*backend, kSharedSeed);
    trainables.begin_update();
    const RandomBatch batch(config, shared_batch(config), kSharedSeed);
    Tape tape;
    Pass pass = Pass::train(*backend, DType::bf16, tape, RandomKey{kSharedSeed});
    const TokenLosses losses = batch.loss(pass, model, kSharedSmoothing);
    tape.backward(*backend);
    if (ranks.rank() == shares - 1) {
      held = {backend->arena().peak_bytes(), ranks.bytes_sent()};
    }
  });
  return held;
}

TEST(CountedStep, AStageOfAPipelineHoldsWhatIsCounted) {
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm, Architecture::encoder}) {
    for (const Recompute recompute : {Recompute::nothing, Recompute::layers}) {
      ModelConfig config = shared_model(architecture);
      config.recompute = recompute;
      for (const auto& [stage, held] : run_in_stages(config, 3)) {
        const CountedStep counted = count_step(config, {stage, 3}, shared_batch(config), DType::bf16);
        EXPECT_EQ(counted.peak_bytes, held.peak_bytes) << "stage " << stage << " of " << describe(architecture);
      }
    }
  }
}

TEST(CountedStep, ARankWithAShareOfEachMatrixHoldsAndSendsWhatIsCounted) {
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm, Architecture::encoder}) {
    for (const int shares : {2, 4}) {
      ModelConfig config = shared_model(architecture);
      config.positions = Positions::rotary;
      const PlanBatch batch = shared_batch(config);
      const Held held = run_in_shares(config, shares);
      const CountedStep counted = count_step(config, {.shares = shares}, batch, DType::bf16);
      EXPECT_EQ(counted.peak_bytes, held.peak_bytes) << describe(architecture);
      const int64_t of_logits = batch.tokens() * 16 * (shares - 1);
      EXPECT_DOUBLE_EQ(counted.summed_bytes * 2.0 * (shares - 1) / shares,
                       static_cast<double>(held.sent_bytes - of_logits));
    }
  }
}

}  // namespace
}  // namespace heed
