#include "tune/tuning_result.h"

#include <algorithm>
#include <cmath>

#include "base/system/files.h"
#include "tune/edited_recipe.h"
#include "tune/tuning_table.h"

namespace heed {
namespace {

std::string noise_sentence(const Verdict& verdict, const std::string& by) {
  switch (verdict.gain) {
    case Gain::real:
      return fmt::format(
          "By {} it is {:.3g} better than the recipe; two seeds of the same settings may differ by {:.3g}: "
          "this is more than noise.",
          by, verdict.difference, verdict.noise);
    case Gain::noise:
      return fmt::format(
          "By {} it is {:.3g} better than the recipe, but two seeds of the same settings may differ by "
          "{:.3g}, or the second seed does not confirm it: this is noise.",
          by, verdict.difference, verdict.noise);
    case Gain::none:
      return "With the second seeds it was no better than the recipe itself, which is kept.";
    case Gain::unknown:
      return "Whether that is more than noise is not known: no settings were trained with two seeds.";
  }
  return "";
}

std::string cost_sentence(const TuningState& state) {
  const auto second = std::ranges::count(state.trials, true, &Trial::is_second_seed);
  return fmt::format(
      "It took {:.1f} minutes and {} updates: {} trials, {} second seed{}, a range test of the rate with {} "
      "updates, and reading the text.",
      state.seconds() / 60.0, state.updates(), std::ssize(state.trials) - second, second, second == 1 ? "" : "s",
      state.points.size());
}

}  // namespace

size_t chosen_trial(const Tuning& tuning) { return tuning.verdict().gain == Gain::none ? 0 : tuning.best(); }

std::vector<std::string> conclusions(const Tuning& tuning, TuneEnd end) {
  const TuningState& state = tuning.state();
  std::vector<std::string> sentences;
  if (end == TuneEnd::minutes) {
    sentences.push_back(fmt::format(
        "The {:g} minutes were over before all trials were compared: the best so far counts.", state.minutes));
  }
  if (tuning.best() == 0) {
    sentences.emplace_back("Nothing that was tried was better than the recipe itself.");
  } else {
    sentences.push_back(
        fmt::format("The best is trial {}: {}.", tuning.best(), describe(state.trials[tuning.best()].changes)));
    sentences.push_back(noise_sentence(tuning.verdict(), compared_by(state)));
  }
  sentences.push_back(cost_sentence(state));
  return sentences;
}

std::string recipe_of_result(const TuneOptions& options, const Changes& changes,
                             const std::vector<std::string>& remarks) {
  std::string text;
  for (const std::string& remark : remarks) {
    text += fmt::format("# {}\n", remark);
  }
  const Recipe wanted = recipe_of_trial(options, changes);
  const std::string file = read_file(options.recipe);
  std::vector<EditedSetting> edited;
  for (const RecipeDifference& difference : differences(parse_recipe(file, options.recipe, {}), wanted)) {
    const size_t dot = difference.key.find('.');
    const bool is_change = std::ranges::count(changes, difference.key, &Change::key) > 0;
    edited.push_back({difference.key.substr(0, dot), difference.key.substr(dot + 1), difference.now,
                      is_change ? fmt::format("was {}", difference.before) : ""});
  }
  std::string as_written = text + edited_recipe(file, edited);
  try {
    if (differences(parse_recipe(as_written, options.recipe, {}), wanted).empty()) {
      return as_written;
    }
  } catch (const ConfigError&) {  // lists over several lines
  } catch (const FormatError&) {
  }
  return text + to_toml(wanted);
}

}  // namespace heed
