// A model while a run trains it: what this rank holds of its weights, their gradients and the optimizer's state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/any_model.h"
#include "ops/tape.h"
#include "optim/moving_average.h"
#include "parallel/gradient_exchange.h"
#include "parallel/outer_optimizer.h"
#include "parallel/pipeline.h"
#include "parallel/stage_exchange.h"
#include "train/learner/distribution.h"
#include "train/learner/training_state.h"
#include "train/learner/whole_state.h"
#include "train/recipe/recipe.h"
#include "train/tasks/task.h"

namespace heed {

// Sums over targets.
struct LossSums {
  double loss = 0.0, negative_log_likelihood = 0.0, kl_divergence = 0.0;
  int64_t targets = 0;

  void add(const LossSums& other);
};

// All methods that are not const are collective, unless ranks train on their own (is_local()).
class Learner {
 public:
  // Builds the model, without values. What it refers to must outlive it.
  Learner(Backend& backend, const Recipe& recipe, Distribution& ranks);
  // Allocates the memory for training these parts. ConfigError if there is not enough.
  void hold(std::vector<WeightPart> parts);
  // Begins with the weights as they are: drawn, or taken from another model.
  void begin();
  // Takes weights and state from a checkpoint.
  TrainingState load(const Checkpoints& checkpoints, int64_t update);
  // Before the first update: each rank has all of the state, and from now on only its own.
  void begin_run();

  const Weights& weights() const { return weights_; }
  Weights& weights() { return weights_; }
  Trainables& trainables() { return *trainables_; }
  const Trainables& trainables() const { return *trainables_; }
  double gradient_norm() const { return optimizer_->gradient_norm(); }  // of the last step, before clipping

  int64_t optimizer_bytes() const { return optimizer_->resident_bytes(); }

  // Whether ranks train independently between outer steps.
  bool is_local() const { return outer_optimizer_.has_value(); }
  // The gradient of the mean loss over all targets of the update's shards or, where this rank trains on its own, over
  // those of its own shards. There may be none.
  LossSums differentiate(const Update& update, int64_t number);
  // One step of the optimizer, by that gradient.
  void step(double learning_rate);
  void synchronize() { outer_optimizer_->step(ranks_.all()); }
  // After these updates.
  void average(const UpdateSpan& updates);

  // With the average, if there is one, since the run ends with that. On the first rank, after collect().
  Scores validate(const Task& task);
  // collect() brings the state of all ranks to the first one; release() gives its memory back.
  void collect();
  void release();
  // Sends what write() on the first rank needs of this one.
  void send_own_state() const;
  void write(const Checkpoints& checkpoints, const TrainingState& state);
  // RankError when ranks that should have the same weights don't.
  void compare_weights(const Ranks& ranks, std::string_view name) const;
  // Gives all memory back but the weights'.
  void end_run();

 private:
  void require_memory() const;
  void exchange_gradients();
  PieceOwners divide_pieces() const;
  std::vector<size_t> own_shards(const Update& update) const;
  // In the order of the shards.
  using ShardLosses = std::vector<LossSums>;
  ShardLosses differentiate_here(const Update& update, const ShardPass& pass);
  ShardLosses differentiate_in_rounds(const Update& update, const ShardPass& pass);
  ShardLosses differentiate_in_stages(const Update& update, const ShardPass& pass);
  LossSums differentiate_shard(const Shard& shard, const ShardPass& pass);
  RandomKey dropout_key(int64_t number) const;
  void collect_whole();
  OtherOptimizers other_optimizers() const;
  TrainingTensors tensors() const;

  Backend& backend_;
  const Recipe& recipe_;
  Distribution& ranks_;
  DType storage_;
  Weights weights_;
  AnyModel model_;
  StagePlan plan_;
  std::optional<Trainables> trainables_;
  std::optional<Optimizer> optimizer_;
  std::optional<GradientExchange> exchange_;       // where gradients leave this rank, or are rounded as if they did
  std::optional<StageGradients> stage_gradients_;  // where the model is divided into stages
  std::optional<StageExchange> stage_exchange_;    // and there are copies of it; goes before the memory that it sends
  std::optional<Pipeline> pipeline_;
  std::optional<OuterOptimizer> outer_optimizer_;  // where ranks train independently
  std::optional<MovingAverage> average_;
  std::optional<WholeState> whole_;  // of a model in parts, on the first rank while it validates and saves
  bool state_is_collected_ = false;
};

}  // namespace heed
