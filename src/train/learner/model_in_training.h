// A model with all that training keeps of it on one rank.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/any_model.h"
#include "optim/moving_average.h"
#include "optim/optimizer.h"
#include "parallel/stage_plan.h"
#include "train/learner/distribution.h"
#include "train/learner/training_state.h"
#include "train/recipe/recipe.h"

namespace heed {

// A model whose weights, with those of its adapter, are registered and have no values yet.
struct RegisteredModel {
  RegisteredModel(const Recipe& recipe, const Distribution& ranks);

  Weights weights;
  AnyModel model;    // refers to the weights
  StagePlan stages;  // which of them hold which weights
};

// What a run does with the weights of its model.
struct WeightPlan {
  std::unique_ptr<RegisteredModel> registered;
  std::vector<WeightTreatment> treatments;  // one for each weight
};

// Owns the weights, their gradients and the optimizer's state: of all weights, or of those of this rank's stage.
struct ModelInTraining {
  // Allocates; values come afterwards. ConfigError if there is not enough memory.
  ModelInTraining(Backend& backend_of_run, const Recipe& recipe, const Distribution& ranks, WeightPlan plan);

  const AnyModel& model() const { return registered->model; }
  const Weights& weights() const { return registered->weights; }
  std::vector<WeightTreatment> treatments() const;
  // What has to be saved.
  TrainingTensors tensors();
  // Gives back the memory of the state that other ranks own.
  void discard_others();

  Backend& backend;
  DType storage;  // what layers read and write
  std::unique_ptr<RegisteredModel> registered;
  Trainables trainables;
  Optimizer optimizer;
  std::optional<MovingAverage> average;  // where the recipe asks for one
  Tensor outer_momentum;                 // where ranks train independently; else empty
};

// Fills the state of what is trained from a checkpoint, and returns how far the run had come.
TrainingState load_state(ModelInTraining& model, const Distribution& ranks, const Checkpoints& checkpoints,
                         int64_t update);

// Collective. RankError when ranks that should have the same weights don't.
void require_same_weights(const ModelInTraining& model, const Distribution& ranks);

}  // namespace heed
