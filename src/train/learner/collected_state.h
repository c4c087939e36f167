// The whole state of a run on its first rank, to validate and save it.
#pragma once

#include <memory>

#include "train/learner/model_in_training.h"
#include "train/learner/whole_state.h"
#include "train/tasks/task.h"

namespace heed {

// Where the state is before it is collected: what each rank owns is there alone, or all of it is on every rank.
enum class StateIs : uint8_t { with_owners, everywhere };

// Lives while no rank trains on. Gives the memory of what other ranks own back when it ends.
class CollectedState {
 public:
  // Collective.
  CollectedState(ModelInTraining& model, const Distribution& ranks, StateIs before = StateIs::with_owners);
  ~CollectedState();
  CollectedState(const CollectedState&) = delete;
  CollectedState& operator=(const CollectedState&) = delete;

  // On the first rank. With the moving average, if there is one, since the run ends with that.
  Scores validate(const Task& task);
  // On the first rank, while send_own() runs on the others: a checkpoint. Before the first update, nobody sends.
  void write(const Checkpoints& checkpoints, const TrainingState& state);
  void send_own() const;

 private:
  void collect_whole();
  OtherOptimizers other_optimizers() const;
  bool trains_independently() const { return !model_.outer_momentum.empty(); }

  ModelInTraining& model_;
  const Distribution& ranks_;
  std::unique_ptr<WholeState> whole_;  // of matrices that are divided, on the first rank
};

}  // namespace heed
