#include "propose/fine_tuning.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/errors.h"
#include "base/system/memory.h"
#include "checkpoint/model_directory.h"
#include "checkpoint/widened_weights.h"
#include "plan/recipe_plan.h"
#include "propose/recipe_parts.h"

namespace heed {
namespace {

constexpr double kShareOfMemory = 0.7;  // the rest is the system's, the text's, and what plans do not know
constexpr int64_t kAdapterRank = 16;
constexpr double kAdapterFactor = 10.0;  // of the rate of all weights

// 3e-5 is usual for encoders and translators of 768 and 512 columns, 1e-5 for language models of 2,048; small models
// stand more.
double peak_of_width(int64_t width) { return std::clamp(3e-5 * 768.0 / static_cast<double>(width), 1e-5, 3e-4); }

struct Start {
  ModelFolder folder;
  ModelDescription description;
  double tokens = 0.0;  // of the text
  int64_t length = 0;   // tokens of a sequence
  int64_t batch_tokens = 0;
};

struct ChosenTraining {
  ExpectedRun run;
  std::string why_adapter;  // empty: all weights are trained
};

double gigabytes(double bytes) { return bytes / 1e9; }

ReasonedRecipe recipe_with(const ProposalOptions& options, const FineTuningText& text, const Start& start,
                           const ChosenTraining& chosen) {
  const ModelConfig& model = start.description.config;
  const bool adapts = !chosen.why_adapter.empty();
  ReasonedRecipe recipe;
  recipe.remark(
      fmt::format("{} examples, {} tokens by the tokenizer of {}, which is {} of {} columns. Its form and its "
                  "tokenizer stay as they are.",
                  text.examples, std::llround(start.tokens), options.from, describe(model.architecture), model.model));
  if (text.add_model) {
    recipe.table("model");
    text.add_model(recipe);
  }
  recipe.table("data");
  text.add_data(recipe, model.max_length);
  if (adapts) {
    recipe.table("adapter");
    recipe.because(chosen.why_adapter);
    recipe.set("rank", kAdapterRank);
    recipe.set("alpha", 2.0 * static_cast<double>(kAdapterRank));
    recipe.set("matrices", std::vector<std::string>{"*attention*", "*feed_forward*"});
  }
  const double peak = peak_of_width(model.model) * (adapts ? kAdapterFactor : 1.0);
  add_schedule(recipe, chosen.run, peak, options.minutes,
               adapts ? "Adapters begin at nothing, and stand ten times the rate of all weights."
                      : "Far below the rate of a fresh model, which would undo what this one has learned; it falls "
                        "with the width.");
  add_training(recipe, chosen.run, text.smoothing, options.minutes);
  recipe.set("task", text.task);
  recipe.set("from", options.from);
  recipe.table("validation");
  recipe.set("every", validation_every(chosen.run));
  if (text.add_validation) {
    text.add_validation(recipe);
  }
  recipe.table("checkpoints");
  recipe.because("A model that somebody trained may get worse again with more passes.");
  recipe.set("final", "best");
  return recipe;
}

ModelPlan planned(const ProposalOptions& options, const ReasonedRecipe& recipe, int64_t length, PlanOptions::Run run) {
  return plan_recipe(parse_continued_recipe(recipe.toml(), options.output), {.recipe = options.output,
                                                                             .overrides = {},
                                                                             .length = length,
                                                                             .threads = options.threads,
                                                                             .run = run,
                                                                             .ranks = std::nullopt});
}

Start read_start(const ProposalOptions& options, const FineTuningText& text) {
  Start start{.folder = {options.from}, .description = load_description({options.from})};
  const ModelConfig& model = start.description.config;
  require<ConfigError>(model.architecture == text.architecture, options.from, "is {}, but the task {} fine-tunes {}",
                       describe(model.architecture), text.task, describe(text.architecture));
  const Tokenizers tokenizers = load_tokenizers(start.folder, start.description);
  start.tokens = std::max(1.0, text.tokens(*tokenizers.back()));
  const auto of_example = static_cast<int64_t>(start.tokens / static_cast<double>(std::max<int64_t>(1, text.examples)));
  start.length =
      text.context ? text.context(model.max_length) : std::clamp<int64_t>(of_example, 2, model.max_length - 2);
  start.batch_tokens = text.batch_examples > 0 ? text.batch_examples * start.length
                                               : std::max<int64_t>(1, text.batch_tokens / start.length) * start.length;
  return start;
}

double usable_bytes(const ProposalOptions& options) {
  return options.memory > 0.0 ? 1e9 * options.memory : static_cast<double>(usable_memory());
}

}  // namespace

std::string propose_fine_tuning(const ProposalOptions& options, const FineTuningText& text) {
  require<ConfigError>(options.aim != Aim::speed && options.aim != Aim::size, "recipe",
                       "--for {} chooses a model's form, but that of --from stays as it is: leave out one of them",
                       options.aim == Aim::speed ? "speed" : "size");
  const Start start = read_start(options, text);
  ChosenTraining chosen{.run = {.updates = 1, .passes = text.passes, .is_full = true}};
  if (takes_only_adapters(start.folder, start.description.config)) {
    chosen.why_adapter =
        "The model is quantized: its matrices stay as they are, and small ones beside them are trained.";
  }
  const auto planned_bytes = [&] {
    return static_cast<double>(
        planned(options, recipe_with(options, text, start, chosen), start.length, PlanOptions::Run::none)
            .memory.training());
  };
  double bytes = planned_bytes();
  const double allowed = kShareOfMemory * usable_bytes(options);
  if (bytes > allowed && chosen.why_adapter.empty()) {
    chosen.why_adapter = fmt::format(
        "To train all weights takes {:.3g} GB, more than {:.0f}% of the {:.3g} GB that there are: small matrices "
        "beside "
        "them are trained instead.",
        gigabytes(bytes), 100.0 * kShareOfMemory, gigabytes(usable_bytes(options)));
    bytes = planned_bytes();
  }
  require<ConfigError>(bytes <= allowed, options.from,
                       "even adapters take {:.3g} GB to train, more than {:.0f}% of the {:.3g} GB that there are",
                       gigabytes(bytes), 100.0 * kShareOfMemory, gigabytes(usable_bytes(options)));
  const ModelPlan measured =
      planned(options, recipe_with(options, text, start, chosen), start.length, PlanOptions::Run::short_run);
  const double speed = static_cast<double>(measured.update_tokens()) / measured.timing->update_seconds;
  const double wanted = text.passes * start.tokens, possible = speed * seconds_of_updates(options);
  const SizeChoice choice{.chosen = {.size = {}, .parameters = measured.parameters, .tokens_per_second = speed},
                          .slower = {},
                          .seen = std::min(wanted, possible),
                          .is_full = possible >= wanted};
  chosen.run = expected_run(choice, start.tokens, start.batch_tokens);
  require_time(options, {.tokens_per_second = speed, .batch_tokens = static_cast<double>(start.batch_tokens)});
  const ReasonedRecipe recipe = recipe_with(options, text, start, chosen);
  parse_continued_recipe(recipe.toml(), options.output).validate();
  return recipe.toml();
}

}  // namespace heed
