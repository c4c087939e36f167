// The plan of a recipe that was read, or made, before.
#pragma once

#include "plan/plan.h"
#include "train/recipe/recipe.h"

namespace heed {

// As plan_model() does; options.recipe is its name in messages, and there are no overrides.
ModelPlan plan_recipe(const Recipe& recipe, const PlanOptions& options);

}  // namespace heed
