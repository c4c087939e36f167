#include "train/learner/learner.h"

#include <utility>

#include "parallel/slice_messages.h"
#include "train/gradients/local_gradients.h"
#include "train/gradients/pipeline_stages.h"
#include "train/gradients/rounds_over_ranks.h"

namespace heed {

Learner::Learner(const Recipe& recipe, Distribution ranks, std::unique_ptr<ModelInTraining> model,
                 std::unique_ptr<const Teacher> teacher)
    : recipe_(recipe.training),
      ranks_(std::move(ranks)),
      model_(std::move(model)),
      teacher_(std::move(teacher)),
      gradients_(source_for(recipe.training)) {
  if (recipe_.local_updates > 0) {
    outer_optimizer_.emplace(model_->backend, model_->trainables, model_->outer_momentum.view(), recipe_.outer,
                             recipe_.gradients);
  }
  if (!ranks_.all().is_alone()) {
    model_->discard_others();
  }
}

std::unique_ptr<GradientSource> Learner::source_for(const TrainingRecipe& recipe) {
  if (recipe.local_updates > 0) {
    return std::make_unique<LocalGradients>(*model_, teacher_.get());
  }
  const DType type = dtype_of_plain(recipe.gradients);
  if (ranks_.divides_layers()) {
    return std::make_unique<PipelineStages>(*model_, ranks_, type);
  }
  if (!ranks_.holders().is_alone() || type != DType::f32) {
    return std::make_unique<RoundsOverRanks>(*model_, ranks_, type, teacher_.get());
  }
  return std::make_unique<LocalGradients>(*model_, teacher_.get());
}

// All of them; where ranks train independently, this rank's.
std::vector<const Shard*> Learner::own_shards(const Update& update) const {
  std::vector<const Shard*> own;
  const auto first = static_cast<size_t>(is_local() ? ranks_.all().rank() : 0);
  const auto step = static_cast<size_t>(is_local() ? ranks_.all().count() : 1);
  for (size_t shard = first; shard < update.shards.size(); shard += step) {
    own.push_back(update.shards[shard].get());
  }
  return own;
}

LossSums Learner::accumulate_gradients(const Update& update, int64_t number) {
  const std::vector<const Shard*> shards = own_shards(update);
  LossSums sums;
  for (const Shard* const shard : shards) {
    sums.targets += shard->targets();
  }
  if (is_local() && sums.targets == 0) {
    return {};
  }
  const RandomKey seed{static_cast<uint64_t>(recipe_.seed)};
  const ShardPass pass{
      .loss_scale = 1.0 / static_cast<double>(sums.targets),
      .key = seed.derive("dropout").derive(static_cast<uint64_t>(number)),  // draws are numbered by rows of all shards
      .smoothing = Smoothing(static_cast<float>(recipe_.smoothing))};
  for (const LossSums& shard : gradients_->accumulate_gradients(shards, pass)) {
    sums.add(shard);
  }
  return sums;
}

void Learner::step(double learning_rate) {
  Optimizer& optimizer = model_->optimizer;
  const std::vector<int> copies_of_stage = ranks_.holders_of_stage(ranks_.own_stage().index);
  optimizer.measure(model_->backend);
  share_norms(ranks_.holders(), optimizer.owners(), optimizer.squared_norms());
  optimizer.step(model_->backend, learning_rate);
  share_weights(ranks_.holders(), optimizer.owners(), copies_of_stage, model_->trainables);
}

int Learner::synchronize() {
  const int lost = ranks_.leave_out_lost();
  outer_optimizer_->step(ranks_.all());
  return lost;
}

void Learner::average(const UpdateSpan& updates) {
  if (model_->average) {
    model_->average->add(updates);
  }
}

CollectedState Learner::collect() {
  gradients_->discard();
  return {*model_, ranks_};
}

}  // namespace heed
