// Training of a model in stages.
#pragma once

#include "train/learner/ranks_training_testing.h"

namespace heed::test {

class StagesTraining : public RanksTrainingTest {
 protected:
  EndReason train_in_stages(int stages, const Recipe& recipe, const std::string& name,
                            TrainStart start = TrainStart::fresh) {
    return train_as(stages == 1 ? "" : fmt::format("pipeline={}", stages), stages, recipe, name, start);
  }

  using Layouts = std::vector<std::pair<std::string, int>>;

  void expect_same_bits(const Recipe& recipe, const std::string& name, const Layouts& layouts) {
    train(recipe, name + "-1");
    const auto validations = listening_.validations;
    for (const auto& [layout, ranks] : layouts) {
      const std::string other = name + "-" + layout;
      listening_.validations.clear();
      train_as(layout, ranks, recipe, other);
      EXPECT_EQ(weights(other), weights(name + "-1")) << layout;
      EXPECT_EQ(state(other), state(name + "-1")) << layout;
      ASSERT_EQ(listening_.validations.size(), validations.size());
      for (size_t i = 0; i < validations.size(); ++i) {
        EXPECT_EQ(listening_.validations[i].scores.loss, validations[i].scores.loss) << layout;
      }
    }
    listening_.validations.clear();
  }

  Recipe in_shards(Recipe recipe) const {
    recipe.model.encoder_layers = recipe.model.decoder_layers = 3;
    return RanksTrainingTest::in_shards(recipe);
  }
};

}  // namespace heed::test
