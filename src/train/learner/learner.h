// Trains a model: gradients of an update, the step that they lead to, and what ranks do about both together.
#pragma once

#include <memory>
#include <optional>

#include "parallel/outer_optimizer.h"
#include "train/gradients/gradient_source.h"
#include "train/learner/collected_state.h"
#include "train/learner/distribution.h"
#include "train/learner/model_in_training.h"
#include "train/learner/teacher.h"
#include "train/recipe/recipe.h"
#include "train/tasks/task.h"

namespace heed {

// All methods that are not const are collective, unless ranks train independently.
class Learner {
 public:
  // Goes on from a model whose values are there on each rank: drawn, taken from another model, or read. From then on a
  // rank keeps the state of what it owns.
  Learner(const Recipe& recipe, Distribution ranks, std::unique_ptr<ModelInTraining> model,
          std::unique_ptr<const Teacher> teacher = nullptr);
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  const Distribution& ranks() const { return ranks_; }
  const ModelInTraining& model() const { return *model_; }
  double gradient_norm() const { return model_->optimizer.gradient_norm(); }  // of the last step, before clipping
  // Whether ranks train independently between outer steps.
  bool is_local() const { return outer_optimizer_.has_value(); }

  // The gradient of the mean loss over all targets of the update's shards or, where this rank trains on its own, over
  // those of its own shards. There may be none.
  LossSums accumulate_gradients(const Update& update, int64_t number);
  // One step of the optimizer, by that gradient.
  void step(double learning_rate);
  // An outer step of ranks that train independently. Those that were lost since the last one are left out of all that
  // follows. Returns how many.
  int synchronize();
  // After these updates: adds the weights to their average, if there is one.
  void average(const UpdateSpan& updates);

  // The state of all ranks on the first one. It must end before the next update.
  CollectedState collect();

 private:
  std::unique_ptr<GradientSource> source_for(const TrainingRecipe& recipe);
  std::vector<const Shard*> own_shards(const Update& update) const;

  TrainingRecipe recipe_;
  Distribution ranks_;
  std::unique_ptr<ModelInTraining> model_;
  std::unique_ptr<const Teacher> teacher_;         // null: it learns from the text alone
  std::optional<OuterOptimizer> outer_optimizer_;  // where ranks train independently
  std::unique_ptr<GradientSource> gradients_;
};

}  // namespace heed
