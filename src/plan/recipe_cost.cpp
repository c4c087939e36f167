#include "heed/plan.h"
#include "plan/plan.h"

namespace heed {

RecipeCost cost_of_recipe(const RecipeCostOptions& options) {
  PlanOptions plan_options{
      .recipe = options.recipe, .overrides = options.overrides, .length = options.length, .threads = options.threads};
  plan_options.interruption = options.interruption;
  plan_options.run = options.run == TimedRun::none ? PlanOptions::Run::none : PlanOptions::Run::short_run;
  ModelPlan plan = plan_model(plan_options);
  return {.model = std::move(plan.model),
          .precision = plan.precision,
          .batch = plan.batch,
          .updates = plan.updates,
          .update_tokens = plan.update_tokens(),
          .parameters = plan.parameters,
          .trained_parameters = plan.trained_parameters,
          .parts = std::move(plan.parts),
          .update_flops = plan.update_flops(),
          .memory = plan.memory,
          .timing = plan.timing};
}

}  // namespace heed
