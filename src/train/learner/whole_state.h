// A whole model with its state, where a run's ranks hold it in parts.
#pragma once

#include "models/any_model.h"
#include "nn/weights/collected_parts.h"
#include "train/learner/training_state.h"

namespace heed {

// As one process has it: what is saved and validated, and what a run goes on from. Needs memory for all of it.
class WholeState {
 public:
  // Has a moving average if the parts have one.
  WholeState(Backend& backend, const ModelConfig& config, DType storage, const TrainingTensors& parts);

  // Collective among the ranks that share the model: fills the first rank's `whole`; others give null.
  static void collect(const Trainables& own, const TrainingTensors& parts, WholeState* whole);
  // This rank's parts of it.
  void take_parts(const Trainables& own, const TrainingTensors& parts);

  // In memory of a whole model.
  TrainingTensors tensors();
  const AnyModel& model() const { return model_; }
  // The weights that are validated: the moving average, if there is one.
  void put_validated_weights(Backend& backend);
  const Trainables& validated() const { return trainables_; }

 private:
  Weights weights_;
  AnyModel model_;
  Trainables trainables_;
  Tensor masters_, first_moments_, second_moments_, applied_, moving_average_;
};

}  // namespace heed
