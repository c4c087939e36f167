#include "propose/both_ways.h"

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// Passes over the text of both directions, and of the one with its translations: three sentences for each.
struct Passes {
  double both, one;

  // What a model reads in them, in tokens, and in the time of which it translates the text with a beam of four: as long
  // as it learns from a text 1.2 times that long.
  double tokens(const PairTokens& text) const { return (both + kTranslating) * text.both() + one * 3.0 * text.target; }

  static constexpr double kTranslating = 1.2;
};

// From German to English the fewest were enough; to German, where words have more forms, the most were better.
constexpr Passes kFewest{16.0, 5.0}, kMost{29.0, 17.0};
constexpr double kPeakOfBoth = 0.004, kPeakOfOne = 0.002;
constexpr size_t kEnoughPairs = 5000;     // it was measured on 29,000
constexpr double kMostSharedWords = 0.5;  // names and marks are in both languages
constexpr int64_t kWidthOfPeak = 192, kWarmupOfOne = 200;

// As far between the fewest and the most as the time allows.
Passes passes_in(double tokens, const PairTokens& text) {
  const double least = kFewest.tokens(text);
  const double share = std::clamp((tokens - least) / (kMost.tokens(text) - least), 0.0, 1.0);
  return {std::lerp(kFewest.both, kMost.both, share), std::lerp(kFewest.one, kMost.one, share)};
}

ExpectedRun training_of(double passes, double tokens, double rate, int64_t batch, bool is_full) {
  return {.updates = std::max<int64_t>(1, std::llround(passes * tokens / static_cast<double>(batch))),
          .passes = passes,
          .minutes = passes * tokens / rate / 60.0,
          .is_full = is_full};
}

void add_limits(ReasonedRecipe& recipe, const ExpectedRun& run, double ends_by, double peak, int64_t warmup) {
  recipe.set_exactly("ends_by", ends_by);
  recipe.set("schedule.kind", run.is_full ? "cosine" : "timed-cosine");
  if (run.is_full) {
    recipe.set("schedule.length", run.updates);
    recipe.set("training.updates", run.updates);
  }
  recipe.set("schedule.peak", rounded_down(peak));
  recipe.set("schedule.warmup", warmup);
  recipe.set("training.log_every", std::clamp<int64_t>(run.updates / 50, 1, 100));
  recipe.set("validation.every", validation_every(run));
}

std::vector<std::string> in_order(std::vector<std::string> files, const std::vector<std::string>& more) {
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

// "to-target", or "to-target-2" for the second of several files.
std::string translations_name(std::string_view side, size_t file, size_t of) {
  return of == 1 ? fmt::format("to-{}", side) : fmt::format("to-{}-{}", side, file + 1);
}

std::vector<std::string> add_translations(ReasonedRecipe& recipe, std::string_view side,
                                          const std::vector<std::string>& inputs) {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(translations_name(side, i, inputs.size()));
    recipe.listed_table("stages");
    recipe.set("name", names.back());
    recipe.set("kind", "translate");
    recipe.set("from", "both-ways");
    recipe.set("input", inputs[i]);
    recipe.set("beam", int64_t{4});
  }
  return names;
}

std::vector<std::string> results_of(const std::vector<std::string>& stages, std::string_view file) {
  std::vector<std::string> results;
  results.reserve(stages.size());
  for (const std::string& stage : stages) {
    results.push_back(fmt::format("stage:{}/{}", stage, file));
  }
  return results;
}

}  // namespace

bool suits_both_ways(const Lines& source, const Lines& target) {
  return target.size() >= kEnoughPairs && share_of_words(target, source) < kMostSharedWords;
}

LearningRules both_ways_rules(const PairTokens& tokens) {
  return {.parameters_per_token = 4.5, .tokens_per_parameter = 6.0, .passes = kMost.tokens(tokens) / tokens.both()};
}

bool pays_both_ways(const SizeChoice& choice, const PairTokens& tokens) {
  return choice.seen >= kFewest.tokens(tokens);
}

BothWaysRun both_ways_run(const SizeChoice& choice, const PairTokens& tokens, int64_t batch, double minutes) {
  const double rate = std::max(1.0, choice.chosen.tokens_per_second);
  const Passes passes = passes_in(choice.seen, tokens);
  const double first = passes.both * tokens.both() / passes.tokens(tokens);
  return {.both = training_of(passes.both, tokens.both(), rate, batch, choice.is_full),
          .one = training_of(passes.one, 3.0 * tokens.target, rate, batch, choice.is_full),
          .minutes = minutes,
          .first_minutes = std::max(0.1, std::round(10.0 * first * minutes) / 10.0),
          .is_full = choice.is_full};
}

void add_both_ways(ReasonedRecipe& recipe, const BothWaysRun& run, int64_t width,
                   const std::vector<std::string>& source, const std::vector<std::string>& target) {
  const double narrow = std::min(1.0, static_cast<double>(kWidthOfPeak) / static_cast<double>(width));
  recipe.listed_table("stages");
  recipe.because(
      fmt::format("One model learns both directions, in {:.0f} passes, and tells them apart by the language "
                  "that it reads. {}",
                  run.both.passes,
                  run.is_full ? "More passes do not help."
                              : "Its rate goes down until the minute in which it ends, whatever the machine "
                                "does meanwhile."));
  recipe.set("name", "both-ways");
  recipe.set("data.train_source", in_order(source, target));
  recipe.set("data.train_target", in_order(target, source));
  add_limits(recipe, run.both, run.first_minutes, kPeakOfBoth * narrow, warmup_of(run.both));

  const std::vector<std::string> to_target = add_translations(recipe, "target", source);
  const std::vector<std::string> to_source = add_translations(recipe, "source", target);

  recipe.listed_table("stages");
  recipe.because(
      fmt::format("It goes on in one direction, in {:.0f} passes over the text and the model's own "
                  "translations, which stand beside the originals on both sides: that improves it more than "
                  "any larger size.",
                  run.one.passes));
  recipe.set("name", "one-way");
  recipe.set("from", "both-ways");
  recipe.set("data.train_source", in_order(in_order(source, source), results_of(to_source, "target")));
  recipe.set("data.train_target", in_order(in_order(target, results_of(to_target, "target")), target));
  add_limits(recipe, run.one, run.minutes, kPeakOfOne * narrow, std::min(kWarmupOfOne, warmup_of(run.one)));
}

}  // namespace heed
