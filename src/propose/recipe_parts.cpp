#include "propose/recipe_parts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "plan/recipe_plan.h"

namespace heed {
namespace {

constexpr double kShareOfUpdates = 0.85;  // of the time; validations and checkpoints take the rest
constexpr double kLeastUpdates = 10.0;
constexpr double kPassesWithoutDropout = 3.0, kPassesWithLittle = 10.0;

Recipe parsed(const ReasonedRecipe& recipe, const std::string& name) { return parse_recipe(recipe.toml(), name, {}); }

ModelPlan plan_of(const ReasonedRecipe& recipe, int64_t length, PlanOptions::Run run, const ProposalOptions& options) {
  return plan_recipe(parsed(recipe, options.output), {.recipe = options.output,
                                                      .overrides = {},
                                                      .length = length,
                                                      .threads = options.threads,
                                                      .run = run,
                                                      .ranks = std::nullopt});
}

}  // namespace

ExpectedRun expected_run(const SizeChoice& choice, double tokens, int64_t batch) {
  const int64_t updates = std::max<int64_t>(1, std::llround(choice.seen / static_cast<double>(batch)));
  const double rate = std::max(1.0, choice.chosen.tokens_per_second);
  return {.updates = updates,
          .passes = choice.seen / tokens,
          .minutes = choice.seen / rate / 60.0,
          .is_full = choice.is_full};
}

SizeChoice choose_measured(std::span<const ModelSize> sizes, const LearningRules& rules, double tokens,
                           const MakeRecipe& make, int64_t length, const ProposalOptions& options) {
  // While a size is being measured, the rest of its recipe does not matter.
  const auto recipe_of = [&](const ModelSize& size) {
    return make({.chosen = {.size = size}, .slower = {}, .seen = tokens});
  };
  return choose_size(
      sizes, rules, tokens, seconds_of_updates(options),
      [&](const ModelSize& size) {
        return plan_of(recipe_of(size), length, PlanOptions::Run::none, options).parameters;
      },
      [&](const ModelSize& size) {
        const ModelPlan measured = plan_of(recipe_of(size), length, PlanOptions::Run::short_run, options);
        return static_cast<double>(measured.update_tokens()) / measured.timing->update_seconds;
      });
}

void require_valid(const ReasonedRecipe& recipe, const ProposalOptions& options) {
  parsed(recipe, options.output).validate();
}

double rounded_down(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)) - 1.0);
  return std::floor(value / power) * power;
}

double seconds_of_updates(const ProposalOptions& options) { return kShareOfUpdates * 60.0 * options.minutes; }

void require_time(const ProposalOptions& options, const LeastWork& work) {
  const double updates = kLeastUpdates * work.batch_tokens / work.tokens_per_second / kShareOfUpdates;
  // A validation has no backward pass.
  const double validation = work.validation_tokens / (3.0 * work.tokens_per_second) / (1.0 - kShareOfUpdates);
  const double least = std::max(updates, validation) / 60.0;
  require<ConfigError>(options.minutes >= least, "recipe",
                       "--minutes is {:g}, but {} take longer on this machine: give it at least {:.1g}",
                       options.minutes,
                       updates > validation ? "ten updates" : "one validation and the updates beside it",
                       std::ceil(10.0 * least) / 10.0);
}

void require_text_to_learn(const TextFigures& text, int64_t least_bytes, const ProposalOptions& options) {
  require<FormatError>(options.validation.empty() || figures_of(read_text_lines(options.validation)).words > 0,
                       "the validation text", "is empty");
  require<FormatError>(text.bytes >= least_bytes, "text", "{} bytes are too few to learn from: {} are needed",
                       text.bytes, least_bytes);
}

double encoder_peak(int64_t width, double at_128) { return rounded_down(at_128 * 128.0 / static_cast<double>(width)); }

double dropout_for(const ExpectedRun& run) {
  return run.passes > kPassesWithLittle ? 0.2 : run.passes > kPassesWithoutDropout ? 0.1 : 0.0;
}

void add_dropout(ReasonedRecipe& recipe, const ExpectedRun& run) {
  const double rate = dropout_for(run);
  recipe.because(fmt::format("The text is read {:.1f} times: {}.", run.passes,
                             rate == 0.0  ? "too few for the model to learn it by heart"
                             : rate < 0.2 ? "a little dropout keeps the model from learning it by heart"
                                          : "dropout keeps the model from learning it by heart"));
  recipe.set("embedding_dropout", rate);
  recipe.set("attention_dropout", 0.0);
  recipe.set("inner_dropout", 0.0);
  recipe.set("branch_dropout", rate);
}

int64_t warmup_of(const ExpectedRun& run) {
  return std::min(run.updates / 2, std::clamp<int64_t>(run.updates / 10, 20, 1000));
}

void add_size(ReasonedRecipe& recipe, const SizeChoice& choice, const LearningRules& rules, double tokens) {
  const ModelSize& size = choice.chosen.size;
  std::string reason = fmt::format(
      "{} parameters for {} tokens of text (at most {:g} a token), of which this machine reads {:.0f} a second.",
      choice.chosen.parameters, std::llround(tokens), rules.parameters_per_token, choice.chosen.tokens_per_second);
  for (const CostedSize& slower : choice.slower) {
    reason += fmt::format(" A width of {} reads {:.0f}: too slow for its {} parameters in this time.",
                          slower.size.width, slower.tokens_per_second, slower.parameters);
  }
  recipe.because(reason);
  recipe.set("model", size.width);
  recipe.set("inner", size.inner);
  recipe.set("heads", size.heads);
}

void add_vocabulary(ReasonedRecipe& recipe, const std::vector<SubwordFigures>& tried) {
  const SubwordFigures& chosen = tried.back();
  std::string reason = fmt::format(
      "The median one of {} subwords occurs {} times, and nine tenths {} times or more (50 "
      "and 20 are enough to learn them).",
      chosen.vocabulary, chosen.median, chosen.tenth);
  int64_t told = 0;  // a short text has the same few subwords however many are asked for
  for (const SubwordFigures& other : tried) {
    if (other.vocabulary > chosen.vocabulary && other.vocabulary != told) {
      told = other.vocabulary;
      reason += fmt::format(" Of {} it would be {} and {}.", other.vocabulary, other.median, other.tenth);
    }
  }
  recipe.because(reason);
  recipe.set("kind", "bpe");
  recipe.set("vocabulary", chosen.vocabulary);
}

void add_schedule(ReasonedRecipe& recipe, const ExpectedRun& run, double peak, double minutes, const std::string& why) {
  recipe.table("schedule");
  if (run.is_full) {
    recipe.because(
        fmt::format("{:.0f} passes over the text are {} updates, which take about {:.0f} minutes; more passes "
                    "do not help.",
                    run.passes, run.updates, run.minutes));
    recipe.set("kind", "cosine");
    recipe.set("length", run.updates);
  } else {
    recipe.because(
        fmt::format("The rate goes down over the {:g} minutes, whatever the machine does meanwhile: about {} "
                    "updates.",
                    minutes, run.updates));
    recipe.set("kind", "timed-cosine");
  }
  recipe.because(why);
  recipe.set("peak", peak);
  recipe.set("warmup", warmup_of(run));
}

void add_training(ReasonedRecipe& recipe, const ExpectedRun& run, double smoothing, double minutes) {
  recipe.table("training");
  recipe.set("smoothing", smoothing);
  if (run.is_full) {
    recipe.set("updates", run.updates);
  }
  recipe.set_exactly("minutes", minutes);
  recipe.set("log_every", std::clamp<int64_t>(run.updates / 50, 1, 100));
}

int64_t validation_every(const ExpectedRun& run) { return std::max<int64_t>(1, run.updates / 10); }

}  // namespace heed
