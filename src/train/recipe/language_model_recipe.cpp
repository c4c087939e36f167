#include "train/recipe/language_model_recipe.h"

#include "train/recipe/recipe_checks.h"
#include "train/tasks/language_model_task.h"

namespace heed {
namespace {

SettingTable sample_settings(SampleRecipe& samples) {
  return {"validation",
          {setting("prompts", samples.prompts), setting("sample_tokens", samples.tokens),
           setting("temperature", samples.temperature)}};
}

}  // namespace

std::vector<SettingTable> LanguageModelRecipe::settings() {
  return {text_data_settings(data), text_tokenizer_settings(tokenizer), sample_settings(samples)};
}

void LanguageModelRecipe::validate(const Recipe& recipe) const {
  check_text_data(data, recipe);
  check_text_tokenizer(tokenizer, data);
  check_at_least("validation.sample_tokens", samples.tokens, 0);
  check_at_least("validation.temperature", samples.temperature, 0.0);
}

std::unique_ptr<Task> LanguageModelRecipe::make_task(const Recipe& recipe, const TaskSetup& setup) const {
  return std::make_unique<LanguageModelTask>(recipe, setup);
}

}  // namespace heed
