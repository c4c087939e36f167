#include "train/learner/collected_state.h"

#include "parallel/outer_optimizer.h"
#include "parallel/slice_messages.h"

namespace heed {

CollectedState::CollectedState(ModelInTraining& model, const Distribution& ranks, StateIs before)
    : model_(model), ranks_(ranks) {
  if (before == StateIs::with_owners) {
    const TrainingTensors own = model.tensors();
    for (const View& flat :
         {own.masters, own.optimizer.first_moments, own.optimizer.second_moments, own.moving_average}) {
      if (!flat.empty()) {
        collect_slices(ranks.holders(), model.optimizer.owners(), flat);
      }
    }
  }
  if (ranks.divides_matrices()) {
    collect_whole();
  }
}

// The ranks of the first copy bring their parts together on the first rank.
void CollectedState::collect_whole() {
  if (ranks_.is_first()) {
    whole_ = std::make_unique<WholeState>(model_.backend, model_.model().config(), model_.storage, model_.tensors());
  }
  if (ranks_.holders().is_first()) {
    WholeState::collect(model_.trainables, model_.tensors(), whole_.get());
  }
  if (whole_) {
    whole_->put_validated_weights(model_.backend);
  }
}

CollectedState::~CollectedState() {
  if (!ranks_.all().is_alone()) {
    model_.discard_others();
  }
}

Scores CollectedState::validate(const Task& task) {
  if (whole_) {
    return task.validate({whole_->model(), model_.backend, model_.storage});
  }
  const MovingAverage::InPlace average(model_.average ? &*model_.average : nullptr);
  model_.trainables.attach_remote_weights(model_.backend);
  Scores scores = task.validate({model_.model(), model_.backend, model_.storage});
  model_.trainables.detach_remote_weights();
  return scores;
}

void CollectedState::write(const Checkpoints& checkpoints, const TrainingState& state) {
  if (whole_) {
    return checkpoints.save(state, whole_->tensors(), whole_->validated());
  }
  TrainingTensors all = model_.tensors();
  const MovingAverage::InPlace average(model_.average ? &*model_.average : nullptr);
  if (model_.average) {
    all.masters = average.masters();
  }
  checkpoints.save(state, all, model_.trainables, state.update == 0 ? OtherOptimizers() : other_optimizers());
}

OtherOptimizers CollectedState::other_optimizers() const {
  if (!trains_independently()) {
    return {};
  }
  const auto memory = std::make_shared<ReceivedOptimizer>(model_.optimizer.state());
  return {ranks_.all().count(), [this, memory](int rank) { return memory->receive(ranks_.all(), rank); }};
}

void CollectedState::send_own() const {
  if (trains_independently()) {
    send_optimizer(ranks_.all(), model_.optimizer.state());
  }
}

}  // namespace heed
