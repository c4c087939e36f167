#include "plan/short_run.h"

#include <optional>

#include "base/interruption.h"
#include "base/median.h"
#include "base/system/clock.h"
#include "base/system/memory.h"
#include "base/system/placement.h"
#include "kernels/cpu/cpu_backend.h"
#include "ops/tape.h"
#include "optim/optimizer.h"
#include "plan/random_batch.h"
#include "train/learner/weight_treatments.h"
#include "train/run/trainer.h"

namespace heed {
namespace {

// Runs until both minimums (seconds and updates) are reached, or either maximum.
constexpr double kSeconds = 3.0, kMaxSeconds = 15.0;
constexpr size_t kUpdates = 3, kMaxUpdates = 100;
constexpr uint64_t kSeed = 1;
constexpr double kLearningRate = 1e-5;  // random tokens teach nothing

class Run {
 public:
  Run(Backend& backend, const Recipe& recipe, const ModelConfig& config, const ModelPlan& plan)
      : recipe_(recipe),
        storage_(storage_of(recipe.training.precision)),
        model_(Scope(weights_), config),
        larger_(config, plan.shard(), kSeed),
        tokens_(static_cast<double>(plan.update_tokens())),
        batches_(plan.batches),
        shards_(plan.shards_per_batch),
        larger_shards_(plan.batch.sequences % plan.shards_per_batch) {
    PlanBatch smaller = plan.batch;
    smaller.sequences /= plan.shards_per_batch;
    smaller_.emplace(config, smaller, kSeed);
    trainables_.emplace(backend, weights_, storage_, Trainables::Gradients::wanted,
                        planned_treatments(recipe, weights_));
    trainables_->initialize(backend, kSeed);
    store_planned_base(recipe, backend, *trainables_);
    trainables_->initialize_base(backend, kSeed);
    optimizer_.emplace(backend, *trainables_, recipe.optimizer);
  }

  // Returns the seconds that the optimizer took.
  double update(Backend& backend, const Interruption& interruption) {
    const Smoothing smoothing(static_cast<float>(recipe_.training.smoothing));
    for (int64_t i = 0; i < batches_ * shards_; ++i) {
      require_uninterrupted(state_of(interruption), "plan");
      Tape tape(1.0 / tokens_);
      Pass pass = Pass::train(backend, storage_, tape, RandomKey{kSeed}.derive(static_cast<uint64_t>(passes_++)));
      const RandomBatch& shard = i % shards_ < larger_shards_ ? larger_ : *smaller_;
      shard.loss(pass, model_, smoothing);
      tape.backward(backend);
    }
    const double begin = seconds_now();
    optimizer_->update(backend, kLearningRate);
    return seconds_now() - begin;
  }

 private:
  const Recipe& recipe_;
  DType storage_;
  Weights weights_;
  AnyModel model_;
  // A batch's sequences are shared out among its shards: the first ones have one more.
  RandomBatch larger_;
  std::optional<RandomBatch> smaller_;
  double tokens_;
  int64_t batches_, shards_, larger_shards_, passes_ = 0;
  std::optional<Trainables> trainables_;
  std::optional<Optimizer> optimizer_;
};

}  // namespace

PlanTiming time_short_run(const Recipe& recipe, const ModelConfig& config, const ModelPlan& plan,
                          const PlanOptions& options) {
  const int64_t needed = plan.memory.training(), there = usable_memory();
  require<ConfigError>(
      needed <= there, "plan",
      "training takes {:.1f} GB of memory, but only {:.1f} can be used here; --no-run plans without trying",
      static_cast<double>(needed) / 1e9, static_cast<double>(there) / 1e9);
  const std::unique_ptr<Backend> backend = make_cpu_backend(thread_count(options.threads));
  Run run(*backend, recipe, config, plan);
  run.update(*backend, options.interruption);
  std::vector<double> times, optimizer_times;
  double elapsed = 0.0;
  while (times.empty() ||
         (elapsed < (times.size() < kUpdates ? kMaxSeconds : kSeconds) && times.size() < kMaxUpdates)) {
    const double begin = seconds_now();
    optimizer_times.push_back(run.update(*backend, options.interruption));
    times.push_back(seconds_now() - begin);
    elapsed += times.back();
  }
  return {backend->threads(), static_cast<int>(times.size()), median(times), median(optimizer_times)};
}

}  // namespace heed
