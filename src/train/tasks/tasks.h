// The table of tasks. To add one, write its files and add a line here.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "train/recipe/recipe.h"

namespace heed {

struct TaskKind {
  std::string_view name;      // in training.task
  Architecture architecture;  // of the models that it trains
  std::unique_ptr<TaskRecipe> (*defaults)();
};

// The first task of an architecture is the default for recipes that name none.
std::span<const TaskKind> task_kinds();

// A recipe with every key at its default.
Recipe default_recipe(const TaskKind& kind);
// ConfigError, listing all tasks, for an unknown name.
const TaskKind& task_named(std::string_view name);

}  // namespace heed
