#include "heed/recipe.h"

#include "arguments.h"
#include "calls.h"
#include "heed/plan.h"
#include "parts.h"

namespace heed::python {
namespace {

py::dict dict_of(const PlanMemory& memory) {
  py::dict bytes;
  bytes["weights"] = memory.weights;
  bytes["gradients"] = memory.gradients;
  bytes["optimizer"] = memory.optimizer;
  bytes["activations"] = memory.activations;
  bytes["training"] = memory.training();
  bytes["cache_per_token"] = memory.cache_per_token;
  bytes["cache_full"] = memory.cache_full;
  return bytes;
}

py::dict dict_of(const PlanTiming& timing) {
  py::dict times;
  times["threads"] = timing.threads;
  times["updates"] = timing.updates;
  times["update_seconds"] = timing.update_seconds;
  times["optimizer_seconds"] = timing.optimizer_seconds;
  return times;
}

py::dict dict_of(const RecipeCost& cost) {
  py::dict parts;
  for (const PlanPart& part : cost.parts) {
    py::dict one;
    one["parameters"] = part.parameters;
    one["forward_flops"] = part.forward_flops;
    one["training_flops"] = part.training_flops;
    parts[py::str(part.name)] = one;
  }
  py::dict batch;
  batch["sequences"] = cost.batch.sequences;
  batch["source_length"] = cost.batch.source_length;
  batch["target_length"] = cost.batch.target_length;
  py::dict result;
  result["model"] = cost.model;
  result["precision"] = std::string(name_of(cost.precision));
  result["batch"] = batch;
  result["updates"] = cost.updates;
  result["update_tokens"] = cost.update_tokens;
  result["parameters"] = cost.parameters;
  result["trained_parameters"] = cost.trained_parameters;
  result["parts"] = parts;
  result["update_flops"] = cost.update_flops;
  result["memory"] = dict_of(cost.memory);
  result["timing"] = cost.timing ? py::object(dict_of(*cost.timing)) : py::none();
  return result;
}

}  // namespace

void add_recipes(py::module_& module) {
  module.def(
      "_settings",
      [](const py::object& file, const py::object& overrides) {
        py::list all;
        for (const RecipeSetting& one : settings_of_recipe(path_of(file, "recipe"), list_of(overrides, "overrides"))) {
          all.append(py::make_tuple(one.key, py::cast(one.value), one.is_given));
        }
        return all;
      },
      py::arg("recipe"), py::arg("overrides"));
  module.def(
      "_plan",
      [](const py::object& recipe, const py::object& overrides, const py::object& length, const py::object& threads,
         const py::object& run) {
        RecipeCostOptions options{.recipe = path_of(recipe, "recipe"),
                                  .overrides = list_of(overrides, "overrides"),
                                  .length = value_of<int64_t>(length, "length"),
                                  .threads = value_of<int>(threads, "threads"),
                                  .run = value_of<bool>(run, "run") ? TimedRun::short_run : TimedRun::none};
        RecipeCost cost;
        run_call([&](const Interruption& interruption, std::stop_source&) {
          options.interruption = interruption;
          cost = cost_of_recipe(options);
        });
        return dict_of(cost);
      },
      py::arg("recipe"), py::arg("overrides"), py::arg("length"), py::arg("threads"), py::arg("run"));
}

}  // namespace heed::python
