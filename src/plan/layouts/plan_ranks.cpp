#include "plan/layouts/plan_ranks.h"

#include <algorithm>
#include <tuple>

#include "base/errors.h"
#include "plan/layouts/layout_stages.h"
#include "train/learner/distribution.h"

namespace heed {
namespace {

constexpr int64_t kF32Bytes = 4;

// FLOPs a second of forward and backward, and seconds of the optimizer for each weight.
struct Speed {
  double flops_per_second = 0.0, optimizer_per_weight = 0.0;
};

bool averages(const PlannedModel& model) { return model.recipe.checkpoints.moving_average > 0.0; }

WireType wire_type(const RanksOptions& options, const TrainingRecipe& training) {
  return options.gradients.value_or(training.gradients);
}

PlanUpdate update_of(const RanksOptions& options, const PlannedModel& model) {
  const TrainingRecipe& training = model.recipe.training;
  const bool copies = model.plan.precision != Precision::f32;
  return {.shards = model.plan.shards(),
          .copy_bytes = copies ? size_of(DType::bf16) : kF32Bytes,
          .master_bytes = copies ? kF32Bytes : 0,
          .state_bytes = kF32Bytes * (averages(model) ? 3 : 2),
          .gradient_bytes = wire_bytes(wire_type(options, training)),
          .local_updates = options.local_updates.value_or(std::max<int64_t>(1, training.local_updates))};
}

// The optimizer reads a weight's gradient, reads and writes its master, its moments and its moving average, and writes
// the copy that products read.
int64_t touched_bytes(const PlanUpdate& update) {
  return kF32Bytes + 2 * kF32Bytes + 2 * update.state_bytes + (update.master_bytes > 0 ? update.copy_bytes : 0);
}

Speed speed_of(const RanksOptions& options, const PlannedModel& model, const PlanUpdate& update) {
  const ModelPlan& plan = model.plan;
  const auto trained = static_cast<double>(std::max<int64_t>(1, plan.trained_parameters));
  if (options.flops_per_second > 0.0) {
    return {options.flops_per_second, static_cast<double>(touched_bytes(update)) / options.memory_bandwidth +
                                          plan.optimizer_flops / options.flops_per_second / trained};
  }
  ensure(plan.timing.has_value(), "plan", "ranks without a speed");
  const double seconds = plan.timing->update_seconds - plan.timing->optimizer_seconds;
  return {static_cast<double>(plan.batches) * plan.training_flops / seconds, plan.timing->optimizer_seconds / trained};
}

class Planner {
 public:
  Planner(const RanksOptions& options, const PlannedModel& model)
      : options_(options),
        model_(model),
        update_(update_of(options, model)),
        speed_(speed_of(options, model, update_)) {
    update_.optimizer_per_weight = speed_.optimizer_per_weight;
  }

  const PlanUpdate& update() const { return update_; }
  const Speed& speed() const { return speed_; }

  LayoutCost cost(const Layout& layout) const {
    std::vector<PlanStage> stages;
    for (const StageCost& cost : stages_of(layout, model_.config, model_.plan.shard(), storage())) {
      stages.push_back(stage(layout, cost));
    }
    return cost_of(layout, update_, stages, options_.link);
  }

 private:
  DType storage() const { return storage_of(model_.plan.precision); }

  // Frozen weights and adapters are taken to be spread over the stages like all weights.
  PlanStage stage(const Layout& layout, const StageCost& cost) const {
    const ModelPlan& plan = model_.plan;
    const int64_t bytes_of_trained = update_.copy_bytes + update_.master_bytes;
    const int64_t other = plan.memory.weights - plan.trained_parameters * bytes_of_trained;
    const int64_t scratch = plan.memory.optimizer - plan.trained_parameters * update_.state_bytes;
    const auto share = [&](int64_t of_model, int64_t parameters) {
      return plan.frozen() ? static_cast<int64_t>(static_cast<double>(of_model) * static_cast<double>(parameters) /
                                                  static_cast<double>(plan.parameters))
                           : parameters;
    };
    // Shards that are not all of the largest one's size take their mean.
    const double mean =
        static_cast<double>(plan.batch.sequences) / static_cast<double>(plan.shards_per_batch * plan.shard().sequences);
    return {.forward = mean * cost.forward_flops / speed_.flops_per_second,
            .backward = mean * cost.backward_flops / speed_.flops_per_second,
            .trained = share(plan.trained_parameters, cost.parameters),
            .trained_last = share(plan.trained_parameters, cost.parameters_last),
            .other_weight_bytes = plan.frozen() ? share(other, cost.parameters) : 0,
            .scratch_bytes = scratch / layout.tensor,
            .peak_activations = cost.peak_activations,
            .kept_activations = cost.kept_activations,
            .tensor_sums = cost.tensor_sums,
            .tensor_bytes = cost.tensor_bytes,
            .boundary_bytes = cost.boundary_bytes};
  }

  const RanksOptions& options_;
  const PlannedModel& model_;
  PlanUpdate update_;
  Speed speed_;
};

// Why training would refuse the layout.
std::vector<std::string> obstacles(const Layout& layout, const PlannedModel& model) {
  std::vector<std::string> found = obstacles(layout, model.config, model.plan.shards());
  if (layout.tensor > 1) {
    for (const std::string& setting : settings_against_parts(model.recipe)) {
      found.push_back(fmt::format("tensor {} does not go with {}", layout.tensor, setting));
    }
  }
  if (layout.pipeline * layout.tensor > 1 && model.recipe.training.local_updates > 0) {
    found.push_back(
        fmt::format("{} divides the model, which does not go with training.local_updates", to_text(layout)));
  }
  return found;
}

std::string joined(const std::vector<std::string>& reasons) { return fmt::format("{}", fmt::join(reasons, "; ")); }

}  // namespace

void validate(const RanksOptions& options, const PlannedModel& model) {
  validate(options);
  const PlanUpdate update = update_of(options, model);
  require<ConfigError>(!is_integer(wire_type(options, model.recipe.training)) || update.local_updates > 1, "plan",
                       "int8 and int4 are for differences of weights after local updates, not for gradients");
  if (options.layout) {
    const auto reasons = obstacles(*options.layout, model);
    require<ConfigError>(reasons.empty(), "plan", "{} is impossible: {}", to_text(*options.layout), joined(reasons));
  }
}

RanksPlan plan_ranks(const RanksOptions& options, const PlannedModel& model) {
  validate(options, model);
  const Planner planner(options, model);
  RanksPlan plan{.options = options,
                 .shards = planner.update().shards,
                 .alone = planner.cost({}).time.total(),
                 .possible = {},
                 .impossible = {}};
  plan.options.flops_per_second = planner.speed().flops_per_second;
  plan.options.ranks = options.layout ? options.layout->ranks() : options.ranks;
  for (const Layout& layout :
       options.layout ? std::vector{*options.layout} : layouts_of(static_cast<int>(options.ranks))) {
    std::vector<std::string> reasons = obstacles(layout, model);
    if (reasons.empty()) {
      plan.possible.push_back(planner.cost(layout));
    } else {
      plan.impossible.push_back({layout, std::move(reasons)});
    }
  }
  std::ranges::sort(plan.possible, {}, [&](const LayoutCost& cost) {
    return std::tuple(plan.fits(cost) ? 0 : 1, cost.time.total(), cost.memory.total());
  });
  return plan;
}

}  // namespace heed
