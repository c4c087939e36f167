#include "tune/tune.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/errors.h"
#include "base/system/clock.h"
#include "base/system/files.h"
#include "base/system/new_folder.h"
#include "base/system/threads.h"
#include "kernels/devices/device_choice.h"
#include "train/corpus/prepare.h"
#include "train/recipe/labeled_recipe.h"
#include "train/recipe/translation_recipe.h"
#include "tune/tuning_result.h"

namespace heed {
namespace {

constexpr std::string_view kTuneBusy = "another process tunes in this folder: wait for it, or choose another folder";
constexpr double kShareForRuns = 0.92;    // of the time; the rest is reading text, starting, and machines that vary
constexpr double kShareOfUpdates = 0.85;  // of a run; validations and checkpoints take the rest
constexpr int64_t kMostUsualTrials = 12;
constexpr size_t kMostTrials = 64;

void check(const TuneOptions& options, const Recipe& recipe) {
  require<ConfigError>(std::isfinite(options.minutes) && options.minutes > 0.0, "tune",
                       "--minutes is {:g}, expected above 0", options.minutes);
  require<ConfigError>(recipe.task->has_validation_text(), options.recipe,
                       "there is nothing to compare trials by: {} names no text", recipe.task->validation_key());
  const TrainingRecipe& limits = recipe.training;
  require<ConfigError>(limits.epochs > 0 || limits.updates > 0 || limits.minutes > 0.0, options.recipe,
                       "how long a run is must be known: set training.updates, epochs or minutes");
  require_files(recipe, options.recipe);
}

std::vector<VariedSetting> all_varied(const TuneOptions& options) {
  std::vector<VariedSetting> varied;
  std::set<std::string> keys;
  for (const std::string& text : options.varied) {
    varied.push_back(parse_varied(text));
    require<ConfigError>(keys.insert(varied.back().key).second, "--vary", "{} is given twice", varied.back().key);
  }
  return varied;
}

// Losses per token of other tokens do not compare; BLEU and scores of labels do.
void require_comparable_tokens(const std::vector<VariedSetting>& varied, const Recipe& recipe) {
  const TranslationRecipe* const translation = recipe.find<TranslationRecipe>();
  const bool by_bleu =
      translation != nullptr && translation->validation.bleu && translation->validation.best_by == BestBy::bleu;
  for (const VariedSetting& setting : varied) {
    require<ConfigError>(by_bleu || recipe.find<LabeledRecipe>() != nullptr || !setting.key.starts_with("tokenizer.") ||
                             setting.key.ends_with("dropout"),
                         fmt::format("--vary {}", setting.key), "losses per token of other tokenizers do not compare");
  }
}

// What the user asks for, without what the recipe says anyway. Each makes a valid recipe.
std::vector<Changes> asked_changes(const TuneOptions& options, const Recipe& recipe) {
  const std::vector<VariedSetting> varied = all_varied(options);
  require_comparable_tokens(varied, recipe);
  std::vector<Changes> asked;
  for (Changes& changes : varied.empty() ? std::vector<Changes>() : combinations(varied)) {
    Recipe changed = recipe;
    try {
      changed = recipe_of_trial(options, changes);
    } catch (const ConfigError& error) {
      fail<ConfigError>("--vary", "{}: {}", describe(changes), error.what());
    }
    if (!differences(recipe, changed).empty()) {
      asked.push_back(std::move(changes));
    }
  }
  require<ConfigError>(varied.empty() || !asked.empty(), "--vary", "has no values but those of the recipe");
  return asked;
}

// Rules do not know all that a recipe may say.
bool is_valid(const TuneOptions& options, const Changes& changes) {
  try {
    recipe_of_trial(options, changes);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

double seconds_of_run(const Recipe& recipe, const RangeTest& test) {
  const TrainingRecipe& limits = recipe.training;
  double updates = INFINITY;
  if (limits.updates > 0) {
    updates = static_cast<double>(limits.updates);
  }
  if (limits.epochs > 0 && test.epochs_per_update > 0.0) {
    updates = std::min(updates, static_cast<double>(limits.epochs) / test.epochs_per_update);
  }
  const double seconds = updates * test.seconds_per_update / kShareOfUpdates;
  return limits.minutes > 0.0 ? std::min(60.0 * limits.minutes, seconds) : seconds;
}

// How many trials there is time for.
size_t count_of_trials(const TuneOptions& options, double run_seconds, size_t wanted) {
  const double runs = kShareForRuns * 60.0 * options.minutes / run_seconds;
  const int64_t trials = affordable_trials(static_cast<int64_t>(std::min(wanted, kMostTrials)), runs);
  const double least = cost_of(rungs_of(2)) * run_seconds / kShareForRuns / 60.0;
  require<ConfigError>(trials >= 2, "tune",
                       "--minutes is {:g}, but a run takes about {:.2g}, and the smallest comparison {:.0f} in all: "
                       "give it {:.0f}, or make runs shorter (--set training.minutes={:.2g})",
                       options.minutes, run_seconds / 60.0, std::ceil(least), std::ceil(least),
                       options.minutes / least * run_seconds / 60.0);
  return static_cast<size_t>(trials);
}

void require_enough_minutes(const TuneOptions& options, const Recipe& recipe) {
  if (recipe.training.minutes > 0.0 && recipe.training.updates == 0 && recipe.training.epochs == 0) {
    count_of_trials(options, 60.0 * recipe.training.minutes, kMostTrials);
  }
}

// Texts that no trial changes are read and tokenized once.
void prepare_text(const TuneOptions& options, const Recipe& recipe, const TuningFolder& folder) {
  const bool changes_text = std::ranges::any_of(options.varied, [](const std::string& varied) {
    return varied.starts_with("data.") || varied.starts_with("tokenizer.");
  });
  const bool can = recipe.training.task == "translation" || recipe.training.task == "language-model" ||
                   recipe.training.task == "masked-lm";
  if (can && !changes_text && recipe.prepared.empty()) {
    prepare_corpus(recipe, folder.corpus(), thread_count(options.threads));
  }
}

struct Setup {
  const TuneOptions& options;
  const Recipe& recipe;
  Backend& backend;
  TrainListener& listener;
  TuningFolder folder;
};

// Nothing where it was stopped meanwhile.
std::optional<TuningState> begin_tuning(const Setup& setup, const std::vector<Changes>& asked) {
  const double began = seconds_now();
  const TuneOptions& options = setup.options;
  TuningState state{.recipe = to_toml(setup.recipe), .varied = options.varied, .minutes = options.minutes};
  prepare_text(options, setup.recipe, setup.folder);
  Recipe recipe = setup.recipe;
  if (std::filesystem::exists(setup.folder.corpus())) {
    recipe.prepared = setup.folder.corpus().string();
  }
  setup.listener.on_message("a range test of the learning rate");
  RangeTest test = test_rates(setup.backend, recipe, setup.folder.range_test(), setup.listener);
  if (setup.listener.wants_to_stop()) {
    return std::nullopt;
  }
  state.points = std::move(test.points);
  state.rates = judge_rates(state.points);
  state.run_seconds = seconds_of_run(recipe, test);
  std::vector<Changes> wanted = asked;
  if (asked.empty()) {
    wanted = usual_changes(recipe, state.rates);
    std::erase_if(wanted, [&](const Changes& changes) { return !is_valid(options, changes); });
    wanted.resize(std::min(wanted.size(), static_cast<size_t>(kMostUsualTrials - 1)));
  }
  const size_t trials = count_of_trials(options, state.run_seconds, wanted.size() + 1);
  if (trials < wanted.size() + 1 && !asked.empty()) {
    state.notes.push_back(fmt::format("There is time for {} of the {} combinations.", trials - 1, wanted.size()));
  }
  wanted = asked.empty()
               ? std::vector<Changes>(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(trials) - 1)
               : spread(std::move(wanted), trials - 1);
  state.trials.push_back({.changes = {}, .seed = recipe.training.seed});
  for (Changes& changes : wanted) {
    state.trials.push_back({.changes = std::move(changes), .seed = recipe.training.seed});
  }
  state.other_seconds = seconds_now() - began;
  return state;
}

void introduce(const TuningState& state, TrainListener& listener) {
  if (state.rates.lowest > 0.0) {
    listener.on_message(fmt::format("the loss falls up to a rate of {:.2g}{}", state.rates.lowest,
                                    state.rates.suggested > 0.0
                                        ? fmt::format(", most steeply at {:.2g}: a peak to try", state.rates.suggested)
                                        : ", and hardly: the test suggests no peak"));
  }
  for (const std::string& note : state.notes) {
    listener.on_message(note);
  }
  const std::vector<Rung> rungs = rungs_of(std::ssize(state.trials));
  listener.on_message(fmt::format("{} trials of a run of about {:.2g} minutes, {} rungs: up to {:.0f} minutes",
                                  state.trials.size(), state.run_seconds / 60.0, rungs.size(),
                                  std::ceil((cost_of(rungs) * state.run_seconds + state.other_seconds) / 60.0)));
}

TuningState resumed_tuning(const TuneOptions& options, const Recipe& recipe, const TuningFolder& folder) {
  TuningState state = parse_tuning(read_file(folder.state()), folder.state().string());
  const Recipe before = parse_recipe(state.recipe, folder.state().string(), {});
  const std::vector<RecipeDifference> changed = differences(before, recipe);
  if (!changed.empty()) {
    fail<ConfigError>(folder.path.string(), "{} was {} when the tuning began, and is {} now", changed.front().key,
                      changed.front().before, changed.front().now);
  }
  require<ConfigError>(state.varied == options.varied, folder.path.string(),
                       "a tuning that is resumed tries what it was begun with: give the same --vary");
  state.minutes = options.minutes;
  return state;
}

// Whether the folder holds no more than a tuning leaves that was stopped or killed before its first trial.
bool has_only_begun(const TuningFolder& folder) {
  if (!std::filesystem::is_directory(folder.path)) {
    return false;
  }
  const std::filesystem::directory_iterator entries(folder.path);
  return std::ranges::all_of(entries, [&](const std::filesystem::directory_entry& entry) {
    const std::filesystem::path& path = entry.path();
    return path == folder.range_test() || path == folder.corpus() || path == folder.corpus().string() + ".partial" ||
           path.string().starts_with(folder.state().string() + ".");
  });
}

TuneResult finish(const Tuning& tuning, const TuneOptions& options, TuneEnd end, TrainListener& listener) {
  const TuningFolder folder{options.output};
  if (end == TuneEnd::stopped) {
    return {.end = end};
  }
  const std::vector<std::string> said = conclusions(tuning, end);
  for (const std::string& sentence : said) {
    listener.on_message(sentence);
  }
  const size_t chosen = chosen_trial(tuning);
  write_file(folder.recipe(), recipe_of_result(options, tuning.state().trials[chosen].changes, said));
  write_file(folder.page(), tuning_page(tuning, options, said));
  return {.end = end,
          .recipe = folder.recipe().string(),
          .page = folder.page().string(),
          .model = folder.run(chosen).string()};
}

}  // namespace

TuneResult tune(const TuneOptions& options, TrainListener& listener) {
  const auto backend = make_backend(options.device, options.threads);
  const Recipe recipe = recipe_of_trial(options, {});
  check(options, recipe);
  const TuningFolder folder{options.output};
  const bool is_resumed = options.start == TrainStart::resume, is_new = !std::filesystem::exists(folder.state());
  require<ConfigError>(!is_resumed || !is_new || has_only_begun(folder), options.output,
                       "holds no tuning to resume: there is no tuning.json");
  require<ConfigError>(is_resumed || !std::filesystem::exists(folder.path) || std::filesystem::is_empty(folder.path),
                       options.output, "is not an empty folder: --resume goes on with a tuning, or choose another");
  require_other_file(folder.recipe(), {options.recipe});
  const std::vector<Changes> asked = asked_changes(options, recipe);
  require_enough_minutes(options, recipe);
  MadeFolders made = make_folders(folder.path);
  const FolderLock lock(folder.path, kTuneBusy);
  remove_unfinished_files(folder.path);
  listener.on_start();
  TuningState state;
  if (is_new) {
    std::filesystem::remove_all(folder.corpus());
    NewFolder entries(folder.path, std::move(made));
    std::optional<TuningState> begun = begin_tuning({options, recipe, *backend, listener, folder}, asked);
    entries.keep();
    if (!begun) {
      return {.end = TuneEnd::stopped};
    }
    state = std::move(*begun);
    write_file(folder.state(), to_json(state));
  } else {
    state = resumed_tuning(options, recipe, folder);
  }
  introduce(state, listener);
  Tuning tuning(options, *backend, listener, std::move(state));
  return finish(tuning, options, tuning.run(), listener);
}

}  // namespace heed
