// The recipe of a language model that learns which of two answers is preferred.
#pragma once

#include "train/recipe/chat_recipe.h"

namespace heed {

class PreferenceRecipe final : public ConversationRecipe {
 public:
  double beta = 0.1;  // how far the model may go from the one that it begins from; the smaller, the farther

  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<PreferenceRecipe>(*this); }
  std::vector<SettingTable> settings() override;
  void validate(const Recipe& recipe) const override;
  BatchSize batch_size(int64_t length) const override;
  std::unique_ptr<Task> make_task(const Recipe& recipe, const TaskSetup& setup) const override;
};

}  // namespace heed
