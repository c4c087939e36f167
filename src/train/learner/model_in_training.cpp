#include "train/learner/model_in_training.h"

#include <algorithm>
#include <utility>

#include "kernels/host_copy.h"
#include "nn/weights/adapters.h"
#include "parallel/rank_checks.h"
#include "train/learner/state_memory.h"
#include "train/learner/whole_state.h"

namespace heed {
namespace {

std::vector<bool> held_by(const RegisteredModel& registered, int stage) {
  std::vector<bool> held;
  held.reserve(registered.weights.all().size());
  for (const Weight& weight : registered.weights.all()) {
    held.push_back(registered.stages.stage_of(weight.identity()) == stage);
  }
  return held;
}

// Slices are divided among the ranks that hold a weight. Ranks that train independently own everything.
SliceOwners divide_slices(const Trainables& trainables, const RegisteredModel& registered, const Recipe& recipe,
                          const Distribution& ranks) {
  if (recipe.training.local_updates > 0) {
    return SliceOwners(trainables);
  }
  SliceOwners::Holders holders;
  holders.reserve(trainables.weights().all().size());
  for (const Weight& weight : trainables.weights().all()) {
    holders.push_back(ranks.holders_of_stage(registered.stages.stage_of(weight.identity())));
  }
  return Optimizer::divide(trainables, recipe.optimizer,
                           {.rank = ranks.holders().rank(), .count = ranks.holders().count()}, holders);
}

// The memory allocated so far has not been touched.
void require_memory(const ModelInTraining& model, const Recipe& recipe, const Distribution& ranks) {
  const bool one_shard = std::max(recipe.training.shards, recipe.training.accumulate) == 1;
  require_memory_for_state(model.trainables, model.optimizer.owners(),
                           {.gradients = one_shard && !ranks.divides_layers() ? 1 : 2,
                            .averages = recipe.checkpoints.moving_average > 0.0 ? 1 : 0,
                            .collected = ranks.is_first() ? model.trainables.trained_elements() : 0});
}

}  // namespace

RegisteredModel::RegisteredModel(const Recipe& recipe, const Distribution& ranks)
    : weights(ranks.parts()), model(Scope(weights), recipe.model), stages(recipe.model, ranks.own_stage().count) {
  if (recipe.adapter.rank > 0) {
    add_adapters(weights, recipe.adapter);
  }
}

ModelInTraining::ModelInTraining(Backend& backend_of_run, const Recipe& recipe, const Distribution& ranks,
                                 WeightPlan plan)
    : backend(backend_of_run),
      storage(storage_of(recipe.training.precision)),
      registered(std::move(plan.registered)),
      trainables(backend, registered->weights, storage, Trainables::Gradients::wanted, std::move(plan.treatments),
                 held_by(*registered, ranks.own_stage().index)),
      optimizer(backend, trainables, recipe.optimizer, divide_slices(trainables, *registered, recipe, ranks)) {
  require_memory(*this, recipe, ranks);
  if (recipe.checkpoints.moving_average > 0.0) {
    average.emplace(backend, trainables, optimizer.owners(), recipe.checkpoints.moving_average);
  }
  if (recipe.training.local_updates > 0) {
    outer_momentum = keep_readable(backend, {trainables.masters().elements()}, backend.master_type());
  }
}

std::vector<WeightTreatment> ModelInTraining::treatments() const {
  std::vector<WeightTreatment> treatments;
  for (size_t i = 0; i < weights().all().size(); ++i) {
    treatments.push_back(trainables.treatment_of(i));
  }
  return treatments;
}

TrainingTensors ModelInTraining::tensors() {
  return {trainables.masters(), optimizer.state(), average ? average->view() : View(), outer_momentum.view()};
}

void ModelInTraining::discard_others() {
  const SliceOwners& owners = optimizer.owners();
  for (size_t i = 0; i < owners.slices().size(); ++i) {
    if (!owners.is_own(i)) {
      trainables.discard_master(owners.slices()[i]);
    }
  }
  optimizer.discard_others();
  if (average) {
    average->discard_others();
  }
}

TrainingState load_state(ModelInTraining& model, const Distribution& ranks, const Checkpoints& checkpoints,
                         int64_t update) {
  if (ranks.divides_matrices()) {
    WholeState whole(model.backend, model.model().config(), model.storage, model.tensors());
    TrainingState state = checkpoints.load(update, model.backend, whole.tensors());
    whole.take_parts(model.trainables, model.tensors());
    return state;
  }
  TrainingState state = checkpoints.load(update, model.backend, model.tensors());
  if (!model.outer_momentum.empty()) {
    checkpoints.load_optimizer(update, ranks.all().rank(), model.backend, model.optimizer.state());
  }
  return state;
}

void require_same_weights(const ModelInTraining& model, const Distribution& ranks) {
  if (!ranks.copies().is_alone()) {
    const std::string_view name = ranks.divides_model() ? "part of the model" : "model";
    require_same_on_all_ranks(ranks.copies(), {{name, checksum_of_values(model.trainables)}});
  }
}

}  // namespace heed
