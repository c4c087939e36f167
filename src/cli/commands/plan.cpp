#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/output/counted.h"
#include "cli/output/plan_layouts.h"
#include "cli/output/standard_output.h"

namespace heed::cli {
namespace {

// The smallest and the largest budget of the first paper's profiles of equal FLOPs.
constexpr double kFittedFrom = 6e18, kFittedTo = 3e21;
constexpr double kMega = 1e6, kSecondsAnHour = 3600.0, kMaxHours = 1e9;

struct Arguments {
  PlanOptions options;
  RanksArguments ranks;
  std::optional<double> flops, hours;
  std::string chart;
  bool json = false;
};

// The results that a command line asks for.
struct Answer {
  std::vector<TrainingPlan> plans;  // of the recipe's trainings
  std::optional<double> budget;     // FLOPs
  std::vector<ComputeOptimum> optima;
};

double flops_per_second(const ModelPlan& plan) { return plan.update_flops() / plan.timing->update_seconds; }

double per_token(double flops_of_batch, const ModelPlan& plan) {
  return flops_of_batch / static_cast<double>(plan.batch.tokens());
}

std::string describe(const PlanBatch& batch) {
  if (batch.source_length > 0 && batch.target_length > 0) {
    return fmt::format("{} of {} + {} tokens", counted(batch.sequences, "pair"), batch.source_length,
                       batch.target_length);
  }
  const int64_t length = batch.source_length + batch.target_length;
  return fmt::format("{} of {}", counted(batch.sequences, "sequence"), counted(length, "token"));
}

std::string describe(double seconds) {
  if (seconds < 120.0) {
    return fmt::format("{:.3g} s", seconds);
  }
  return seconds < 2.0 * kSecondsAnHour ? fmt::format("{:.1f} minutes", seconds / 60.0)
                                        : fmt::format("{:.1f} hours", seconds / kSecondsAnHour);
}

void print_parts(const ModelPlan& plan) {
  const auto row = [&](const std::string& name, int64_t parameters, double forward, double training) {
    put("{:<14} {:>12} {:>6.1f} {:>16} {:>16}\n", name, parameters,
        100.0 * static_cast<double>(parameters) / static_cast<double>(plan.parameters),
        in_short(per_token(forward, plan)), in_short(per_token(training, plan)));
  };
  put("{:<14} {:>12} {:>6} {:>16} {:>16}\n", "part", "parameters", "%", "FLOPs forward", "FLOPs training");
  for (const PlanPart& part : plan.parts) {
    row(part.name, part.parameters, part.forward_flops, part.training_flops);
  }
  row("total", plan.parameters, plan.forward_flops, plan.training_flops);
  if (plan.frozen()) {
    put("trained: {} parameters, the adapters' among them; the FLOPs are those of training all\n",
        plan.trained_parameters);
  }
  put("FLOPs per token{}; 6 for each parameter would be {}\n",
      plan.batch.source_length > 0 && plan.batch.target_length > 0 ? " of the target" : "",
      in_short(6.0 * static_cast<double>(plan.parameters)));
  if (plan.optimizer_flops > 0.0) {
    put("Muon's products: {} FLOPs an update, {} a token\n", in_short(plan.optimizer_flops),
        in_short(plan.optimizer_flops / static_cast<double>(plan.update_tokens())));
  }
  put("\n");
}

void print_memory(const PlanMemory& memory) {
  const auto row = [](std::string_view name, int64_t bytes, const std::string& remark = "") {
    put("{:<22} {:>12.1f}{}\n", name, static_cast<double>(bytes) / kMega, remark);
  };
  put("{:<22} {:>12}\n", "memory for training", "MB");
  row("weights", memory.weights);
  row("their gradients", memory.gradients);
  row("optimizer", memory.optimizer);
  row("activations", memory.activations,
      fmt::format("  ({:.1f} saved, {:.1f} recomputed)", static_cast<double>(memory.activations_kept) / kMega,
                  static_cast<double>(memory.activations_recomputed) / kMega));
  row("total", memory.training());
  if (memory.cache_per_token > 0) {
    put("keys and values while decoding: {} bytes a token, {:.1f} MB for a sequence of the full length\n",
        memory.cache_per_token, static_cast<double>(memory.cache_full) / kMega);
  }
  put("\n");
}

void print_timing(const ModelPlan& plan) {
  const PlanTiming& timing = *plan.timing;
  put("on this machine, {}: {:.1f} ms per update (median of {}), {} tokens/s, {:.1f} GFLOP/s\n",
      counted(timing.threads, "thread"), 1e3 * timing.update_seconds, timing.updates,
      in_short(static_cast<double>(plan.update_tokens()) / timing.update_seconds), flops_per_second(plan) / 1e9);
}

// The totals of the recipe's own number of updates.
void print_run(const ModelPlan& plan) {
  const auto updates = static_cast<double>(plan.updates);
  const double tokens = updates * static_cast<double>(plan.update_tokens());
  put("the recipe's {}: {} tokens, {:.3g} per parameter; {:.3g} FLOPs{}\n", counted(plan.updates, "update"),
      in_short(tokens), tokens / static_cast<double>(plan.parameters), updates * plan.update_flops(),
      plan.timing ? fmt::format("; {}", describe(updates * plan.timing->update_seconds)) : "");
}

void print_plan(const ModelPlan& plan) {
  put("{}; {}\n", plan.model, name_of(plan.precision));
  put("an update: {}{}{}\n\n", plan.batches > 1 ? fmt::format("{} batches of ", plan.batches) : "",
      describe(plan.batch),
      plan.shards_per_batch == 1
          ? ""
          : fmt::format(", {}in {} shards", plan.batches > 1 ? "each " : "", plan.shards_per_batch));
  print_parts(plan);
  print_memory(plan.memory);
  if (plan.timing) {
    print_timing(plan);
  }
  if (plan.updates > 0) {
    print_run(plan);
  }
}

void print_optima(const Answer& answer) {
  put("{:.3g} {} best spent on\n", *answer.budget, *answer.budget == 1.0 ? "FLOP is" : "FLOPs are");
  put("{:<28} {:>11} {:>9} {:>21} {:>7}\n", "by", "parameters", "tokens", "tokens per parameter", "loss");
  for (const ComputeOptimum& optimum : answer.optima) {
    put("{:<28} {:>11} {:>9} {:>21.3g} {:>7.3f}\n", optimum.law, in_short(optimum.parameters), in_short(optimum.tokens),
        optimum.tokens / optimum.parameters, optimum.loss);
  }
  put("The laws were fitted to runs of 6e18 to 3e21 FLOPs{}.\n"
      "The loss is what the corrected fit expects there, in nats per token of that text and tokenizer.\n",
      *answer.budget < kFittedFrom || *answer.budget > kFittedTo ? "; these sizes are extrapolated" : "");
}

std::string plan_json(const ModelPlan& plan) {
  std::string parts;
  for (const PlanPart& part : plan.parts) {
    parts += fmt::format("{}\"{}\": {{\"parameters\": {}, \"forward_flops\": {:.9g}, \"training_flops\": {:.9g}}}",
                         parts.empty() ? "" : ", ", part.name, part.parameters, per_token(part.forward_flops, plan),
                         per_token(part.training_flops, plan));
  }
  const PlanMemory& memory = plan.memory;
  std::string json = fmt::format(
      "\"model\": \"{}\", \"precision\": \"{}\", \"parameters\": {}, \"trained_parameters\": {}, \"parts\": {{{}}}, "
      "\"forward_flops_per_token\": {:.9g}, \"training_flops_per_token\": {:.9g}, \"tokens_per_update\": {}, "
      "\"optimizer_flops_per_update\": {:.9g}, \"flops_per_update\": {:.9g}, \"updates\": {}, "
      "\"memory\": {{\"weights\": {}, \"gradients\": {}, \"optimizer\": {}, \"activations\": {}, "
      "\"activations_kept\": {}, \"activations_recomputed\": {}, \"cache_per_token\": {}, \"cache_full\": {}}}",
      plan.model, name_of(plan.precision), plan.parameters, plan.trained_parameters, parts,
      per_token(plan.forward_flops, plan), per_token(plan.training_flops, plan), plan.update_tokens(),
      plan.optimizer_flops, plan.update_flops(), plan.updates, memory.weights, memory.gradients, memory.optimizer,
      memory.activations, memory.activations_kept, memory.activations_recomputed, memory.cache_per_token,
      memory.cache_full);
  if (plan.timing) {
    json += fmt::format(
        ", \"timing\": {{\"threads\": {}, \"update_seconds\": {:.6g}, \"optimizer_seconds\": {:.6g}, "
        "\"tokens_per_second\": {:.6g}, \"flops_per_second\": {:.6g}}}",
        plan.timing->threads, plan.timing->update_seconds, plan.timing->optimizer_seconds,
        static_cast<double>(plan.update_tokens()) / plan.timing->update_seconds, flops_per_second(plan));
  }
  return json;
}

std::string optima_json(const Answer& answer) {
  std::string laws;
  for (const ComputeOptimum& optimum : answer.optima) {
    laws += fmt::format("{}{{\"law\": \"{}\", \"parameters\": {:.9g}, \"tokens\": {:.9g}, \"loss\": {:.9g}}}",
                        laws.empty() ? "" : ", ", optimum.law, optimum.parameters, optimum.tokens, optimum.loss);
  }
  return fmt::format("\"budget_flops\": {:.9g}, \"optima\": [{}]", *answer.budget, laws);
}

std::string plans_json(const std::vector<TrainingPlan>& plans, const Arguments& arguments) {
  const auto json_of = [&](const ModelPlan& plan) {
    return plan_json(plan) + (plan.ranks ? ", " + ranks_json(plan, arguments.ranks.top) : "");
  };
  if (plans.size() == 1 && plans.front().stage.empty()) {
    return json_of(plans.front().plan);
  }
  std::string stages;
  for (const TrainingPlan& one : plans) {
    stages += fmt::format("{}{{\"stage\": \"{}\", {}}}", stages.empty() ? "" : ", ", one.stage, json_of(one.plan));
  }
  return plans.empty() ? "" : fmt::format("\"stages\": [{}]", stages);
}

void print(const Answer& answer, const Arguments& arguments) {
  if (arguments.json) {
    put("{{{}{}{}}}\n", plans_json(answer.plans, arguments), !answer.plans.empty() && answer.budget ? ", " : "",
        answer.budget ? optima_json(answer) : "");
    return;
  }
  for (const TrainingPlan& one : answer.plans) {
    if (!one.stage.empty()) {
      put("{}stage {}\n", &one == answer.plans.data() ? "" : "\n", one.stage);
    }
    print_plan(one.plan);
    if (one.plan.ranks) {
      put("\n");
      print_ranks(one.plan, arguments.ranks.top);
    }
  }
  if (answer.budget) {
    put("{}", answer.plans.empty() ? "" : "\n");
    print_optima(answer);
  }
}

void check(const Arguments& arguments) {
  const bool has_recipe = !arguments.options.recipe.empty();
  const auto refuse_unless = [](bool condition, const char* message) {
    if (!condition) {
      throw std::runtime_error(fmt::format("plan: {}", message));
    }
  };
  refuse_unless(has_recipe || arguments.flops || arguments.hours, "expected a recipe, or a budget as --flops");
  refuse_unless(!arguments.flops || !arguments.hours, "give --flops or --hours, not both");
  refuse_unless(!arguments.hours || has_recipe, "--hours needs a recipe, whose model is timed");
  refuse_unless(!arguments.hours || arguments.options.run == PlanOptions::Run::short_run,
                "--hours needs the short run that --no-run and --flops-per-second skip");
  refuse_unless(!arguments.hours || *arguments.hours > 0.0, "--hours must be more than 0");
  refuse_unless(!arguments.hours || *arguments.hours <= kMaxHours, "--hours must be at most 1e9");
  refuse_unless(arguments.chart.empty() || arguments.flops || arguments.hours,
                "--svg draws a budget: give --flops or --hours");
}

void plan(Arguments& arguments) {
  read_ranks(arguments.ranks, arguments.options);
  check(arguments);
  Answer answer;
  answer.budget = arguments.flops;
  if (answer.budget) {
    answer.optima = compute_optima(*answer.budget);  // a bad budget is refused before anything is timed
  }
  if (!arguments.options.recipe.empty()) {
    answer.plans = plan_trainings(arguments.options);
  }
  if (arguments.hours) {
    answer.budget = kSecondsAnHour * *arguments.hours * flops_per_second(answer.plans.front().plan);
    answer.optima = compute_optima(*answer.budget);
  }
  if (!arguments.chart.empty()) {
    write_compute_optima_chart(*answer.budget, arguments.chart);
  }
  print(answer, arguments);
}

}  // namespace

Command plan_command() {
  const auto arguments = std::make_shared<Arguments>();
  PlanOptions& options = arguments->options;
  return {
      .name = "plan",
      .summary = "what a recipe's training costs, and the best model for a budget",
      .options = joined(
          {{option("RECIPE", options.recipe, "a recipe, in TOML"),
            needing("RECIPE", option("--set TABLE.KEY=VALUE", options.overrides, "override a setting of the recipe")),
            needing("RECIPE", option("--length N", options.length,
                                     "tokens per sequence; 0: the recipe's context, or 24 for a sentence")),
            needing("RECIPE", option("--threads N", options.threads, "threads to use; 0: one per processor")),
            needing("RECIPE", flag("--no-run", options.run, PlanOptions::Run::none, "only calculate; time nothing")),
            option("--flops N", arguments->flops,
                   "a compute budget such as 1e18: print the best sizes of model and text"),
            option("--hours N", arguments->hours, "a budget in hours on this machine, at the recipe's speed"),
            option("--svg FILE", arguments->chart, "write a chart of the best sizes around the budget"),
            flag("--json", arguments->json, "print one JSON object")},
           ranks_options(arguments->ranks)}),
      .run = [arguments] { plan(*arguments); },
  };
}

}  // namespace heed::cli
