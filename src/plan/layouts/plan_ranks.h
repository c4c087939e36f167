// A recipe's model and update on a number of ranks.
#pragma once

#include "models/config.h"
#include "plan/layouts/layouts.h"
#include "plan/plan.h"
#include "train/recipe/recipe.h"

namespace heed {

// What a layout does not change: the recipe, the model that it makes, and its plan for one process.
struct PlannedModel {
  const Recipe& recipe;
  const ModelConfig& config;
  const ModelPlan& plan;
};

// ConfigError for options that are out of range, and for the one layout that is asked for when it is impossible. Needs
// no timing.
void validate(const RanksOptions& options, const PlannedModel& model);

// With the speed of `options`, or else that of the plan's timing.
RanksPlan plan_ranks(const RanksOptions& options, const PlannedModel& model);

}  // namespace heed
