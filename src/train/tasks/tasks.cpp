#include "train/tasks/tasks.h"

#include <algorithm>
#include <array>

#include "train/recipe/chat_recipe.h"
#include "train/recipe/denoising_recipe.h"
#include "train/recipe/labeled_recipe.h"
#include "train/recipe/language_model_recipe.h"
#include "train/recipe/masked_model_recipe.h"
#include "train/recipe/preference_recipe.h"
#include "train/recipe/translation_recipe.h"

namespace heed {
namespace {

template <class Own>
std::unique_ptr<TaskRecipe> defaults() {
  return std::make_unique<Own>();
}

constexpr std::array kTasks{
    TaskKind{"translation", Architecture::seq2seq, defaults<TranslationRecipe>},
    TaskKind{"denoising", Architecture::seq2seq, defaults<DenoisingRecipe>},
    TaskKind{"language-model", Architecture::causal_lm, defaults<LanguageModelRecipe>},
    TaskKind{"chat", Architecture::causal_lm, defaults<ChatRecipe>},
    TaskKind{"preference", Architecture::causal_lm, defaults<PreferenceRecipe>},
    TaskKind{"masked-lm", Architecture::encoder, defaults<MaskedModelRecipe>},
    TaskKind{"classify", Architecture::encoder, defaults<ClassifyRecipe>},
    TaskKind{"tag", Architecture::encoder, defaults<TagRecipe>},
};

}  // namespace

std::span<const TaskKind> task_kinds() { return kTasks; }

Recipe default_recipe(const TaskKind& kind) {
  ModelConfig model;
  model.architecture = kind.architecture;
  Recipe recipe(kind.name, model, kind.defaults());
  recipe.task->set_defaults(recipe);
  return recipe;
}

const TaskKind& task_named(std::string_view name) {
  const auto it = std::ranges::find(kTasks, name, &TaskKind::name);
  if (it == kTasks.end()) {
    std::vector<std::string_view> names;
    std::ranges::transform(kTasks, std::back_inserter(names), &TaskKind::name);
    fail<ConfigError>("training.task", "there is no task '{}'{}; the tasks are {}", name, suggest_name(name, names),
                      fmt::join(names, ", "));
  }
  return *it;
}

}  // namespace heed
