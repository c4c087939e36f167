#include "tune/tuning.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "base/system/files.h"
#include "train/stages/staged_recipe.h"
#include "tune/trial_run.h"
#include "tune/tuning_table.h"

namespace heed {
namespace {

// The value that each trial had at this share of the run; NaN where it failed.
std::vector<double> values_at(const TuningState& state, double share) {
  std::vector<double> values(state.trials.size(), std::nan(""));
  for (size_t i = 0; i < values.size(); ++i) {
    for (const Leg& leg : state.trials[i].legs) {
      if (leg.share == share) {
        values[i] = leg.value;
      }
    }
  }
  return values;
}

// Losses are per token, and of what the training text is made into.
EarlyValue early_value(const TuningState& state) {
  const bool changes_loss = std::ranges::any_of(state.varied, [](const std::string& varied) {
    return varied.starts_with("tokenizer.") || varied.starts_with("data.") || varied.starts_with("model.head");
  });
  return changes_loss ? EarlyValue::of_recipe : EarlyValue::loss;
}

double value_or_worst(double value) { return std::isfinite(value) ? value : -INFINITY; }

std::vector<double> whole_values(const TuningState& state, const Changes& changes) {
  std::vector<double> values;
  for (const Trial& trial : state.trials) {
    if (trial.changes == changes && trial.reached() == 1.0) {
      values.push_back(trial.legs.back().value);
    }
  }
  return values;
}

}  // namespace

std::filesystem::path TuningFolder::run(size_t trial) const { return path / "runs" / fmt::format("{:02}", trial); }

Recipe recipe_of_trial(const TuneOptions& options, const Changes& changes) {
  std::vector<std::string> overrides = options.overrides;
  for (const Change& change : changes) {
    overrides.push_back(change.assignment());
  }
  require<ConfigError>(!has_stages(options.recipe), options.recipe,
                       "has stages: tune a recipe of one training, and take over what is best");
  Recipe recipe = read_recipe(options.recipe, overrides);
  recipe.validate_for_new_run();
  return recipe;
}

Tuning::Tuning(const TuneOptions& options, Backend& backend, TrainListener& listener, TuningState state)
    : options_(options), folder_{options.output}, backend_(backend), listener_(listener), state_(std::move(state)) {}

size_t Tuning::first_trials() const {
  return static_cast<size_t>(std::ranges::count(state_.trials, false, &Trial::is_second_seed));
}

TuneEnd Tuning::run() {
  std::vector<size_t> trials(first_trials());
  for (size_t i = 0; i < trials.size(); ++i) {
    trials[i] = i;
  }
  const std::vector<Rung> rungs = rungs_of(std::ssize(trials));
  const auto interrupted = [this] { return is_stopped_ ? TuneEnd::stopped : TuneEnd::minutes; };
  for (size_t i = 0; i < rungs.size(); ++i) {
    if (climb(rungs[i], trials) == Went::interrupted) {
      return interrupted();
    }
    const std::vector<double> values = values_at(state_, rungs[i].share);
    best_ = *std::ranges::max_element(trials, {}, [&](size_t trial) { return value_or_worst(values[trial]); });
    const int64_t next = i + 1 < rungs.size() ? rungs[i + 1].trials : 1;
    const std::vector<size_t> kept = trials_that_go_on(values, trials, next);
    show(rungs[i], trials, kept);
    if (i + 1 < rungs.size()) {
      for (const size_t trial : trials) {
        if (std::ranges::count(kept, trial) == 0) {
          stop(trial);
        }
      }
      trials = kept;
    }
  }
  if (run_second_seed(best_) == Went::interrupted) {
    return interrupted();
  }
  // That of the recipe makes the comparison better, where there is time for it.
  if (best_ != 0 && has_time_for_a_run() && run_second_seed(0) == Went::interrupted) {
    return interrupted();
  }
  return TuneEnd::complete;
}

Tuning::Went Tuning::climb(const Rung& rung, const std::vector<size_t>& trials) {
  for (const size_t trial : trials) {
    if (run_trial(trial, rung.share) == Went::interrupted) {
      return Went::interrupted;
    }
  }
  return Went::all;
}

Tuning::Went Tuning::run_trial(size_t index, double share) {
  Trial& trial = state_.trials[index];
  if (!trial.failure.empty() || trial.reached() >= share) {
    return Went::all;
  }
  if (is_over() || listener_.wants_to_stop()) {
    is_stopped_ = listener_.wants_to_stop();
    return Went::interrupted;
  }
  listener_.on_message(fmt::format("trial {}, to {:g} of a run: {}{}", index, share, describe(trial.changes),
                                   trial.is_second_seed ? ", with a second seed" : ""));
  Recipe recipe = recipe_of_trial(options_, trial.changes);
  recipe.training.seed = trial.seed;
  if (std::filesystem::exists(folder_.corpus())) {
    recipe.prepared = folder_.corpus().string();
  }
  const LegEnd end = run_leg(trial, {.backend = backend_,
                                     .recipe = recipe,
                                     .folder = folder_.run(index),
                                     .share = share,
                                     .early = early_value(state_),
                                     .listener = listener_,
                                     .is_over = [this] { return is_over(); },
                                     .save = [this] { save(); }});
  save();
  if (end == LegEnd::failed) {
    require<NumericError>(index > 0, "the recipe itself", "{}", trial.failure);
    listener_.on_message(fmt::format("trial {} failed: {}", index, trial.failure));
  }
  is_stopped_ = end == LegEnd::stopped && listener_.wants_to_stop();
  return end == LegEnd::stopped ? Went::interrupted : Went::all;
}

Tuning::Went Tuning::run_second_seed(size_t trial) {
  const auto is_it = [&](const Trial& other) {
    return other.is_second_seed && other.changes == state_.trials[trial].changes;
  };
  auto there = std::ranges::find_if(state_.trials, is_it);
  if (there == state_.trials.end()) {
    state_.trials.push_back(
        {.changes = state_.trials[trial].changes, .seed = state_.trials[trial].seed + 1, .is_second_seed = true});
    save();
    there = state_.trials.end() - 1;
  }
  return run_trial(static_cast<size_t>(there - state_.trials.begin()), 1.0);
}

Verdict Tuning::verdict() const {
  return compare_seeds(whole_values(state_, state_.trials[best()].changes), whole_values(state_, {}));
}

void Tuning::show(const Rung& rung, const std::vector<size_t>& trials, const std::vector<size_t>& kept) {
  listener_.on_message("");
  for (const std::string& line : tuning_table(state_, {.share = rung.share, .trials = trials, .kept = kept})) {
    listener_.on_message(line);
  }
  if (std::string warning = busy_warning(state_, {.share = rung.share, .trials = trials, .kept = kept});
      !warning.empty()) {
    listener_.on_message(warning);
    if (std::ranges::count(state_.notes, warning) == 0) {
      state_.notes.push_back(std::move(warning));
    }
  }
  listener_.on_message("");
}

// Its curve and its settings stay.
void Tuning::stop(size_t trial) {
  const ModelFolder run{folder_.run(trial)};
  std::filesystem::remove_all(run.checkpoints());
  std::filesystem::remove(run.weights());
}

bool Tuning::is_over() const { return state_.seconds() >= 60.0 * options_.minutes; }
bool Tuning::has_time_for_a_run() const { return state_.seconds() + state_.run_seconds <= 60.0 * options_.minutes; }

void Tuning::save() { write_file(folder_.state(), to_json(state_)); }

}  // namespace heed
