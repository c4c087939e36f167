// Ranks that train independently between outer steps.
#pragma once

#include "train/learner/ranks_training_testing.h"

namespace heed::test {

class LocalUpdates : public RanksTrainingTest {
 protected:
  Recipe local_recipe() const {
    Recipe recipe = text_recipe();
    recipe.training.accumulate = 2;
    recipe.training.shards = 4;
    recipe.training.local_updates = 4;
    recipe.checkpoints.moving_average = 0.9;
    recipe.checkpoints.final_weights = FinalWeights::last;
    return recipe;
  }

  double last_loss() const { return listening_.validations.back().scores.loss; }
};

}  // namespace heed::test
