// A few real updates, to measure this machine's speed.
#pragma once

#include "models/config.h"
#include "plan/plan.h"
#include "train/recipe/recipe.h"

namespace heed {

// Runs updates of the recipe's optimizer on the plan's batches of random tokens, for three seconds or, when they are
// slow, a little longer. The first one is not counted. ConfigError when the plan needs more memory than this machine
// has.
PlanTiming time_short_run(const Recipe& recipe, const ModelConfig& config, const ModelPlan& plan,
                          const PlanOptions& options);

}  // namespace heed
