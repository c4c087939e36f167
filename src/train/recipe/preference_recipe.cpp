#include "train/recipe/preference_recipe.h"

#include <cmath>

#include "train/recipe/recipe_checks.h"
#include "train/tasks/conversation/preference_task.h"

namespace heed {

std::vector<SettingTable> PreferenceRecipe::settings() {
  std::vector<SettingTable> tables = ConversationRecipe::settings();
  tables.push_back({"preference", {setting("beta", beta)}, {}});
  return tables;
}

void PreferenceRecipe::validate(const Recipe& recipe) const {
  ConversationRecipe::validate(recipe);
  check(data.too_long != TooLong::truncate, "data.too_long is \"truncate\", but answers are not cut: drop or refuse");
  check(recipe.distil.teacher.empty(), "the task preference compares whole answers: leave out distil.teacher");
  check(std::isfinite(beta) && beta > 0.0, "preference.beta is {}, expected more than 0", beta);
}

BatchSize PreferenceRecipe::batch_size(int64_t length) const {
  BatchSize size = ConversationRecipe::batch_size(length);
  size.sequences *= 2;
  return size;
}

std::unique_ptr<Task> PreferenceRecipe::make_task(const Recipe& recipe, const TaskSetup& setup) const {
  return std::make_unique<PreferenceTask>(recipe, setup);
}

}  // namespace heed
