// What recipes of all kinds have in common: how a size is chosen, and the tables that follow from it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "propose/model_sizes.h"
#include "propose/proposal.h"
#include "propose/reasoned_recipe.h"
#include "propose/text_figures.h"
#include "train/recipe/recipe.h"

namespace heed {

constexpr int64_t kLargeWidth = 256;  // from which on batches or contexts are larger

// What comes of a size in the time.
struct ExpectedRun {
  int64_t updates = 0;
  double passes = 0.0;   // over the text
  double minutes = 0.0;  // that these updates take
  bool is_full = false;  // more passes would not help
};
ExpectedRun expected_run(const SizeChoice& choice, double tokens, int64_t batch);

// Measures the sizes that come into question with recipes that differ in them. `length` is that of a sentence; 0: a
// context is full.
using MakeRecipe = std::function<ReasonedRecipe(const SizeChoice& choice)>;
SizeChoice choose_measured(std::span<const ModelSize> sizes, const LearningRules& rules, double tokens,
                           const MakeRecipe& make, int64_t length, const ProposalOptions& options);

// ConfigError, an error of heed's own, unless the recipe is valid.
void require_valid(const ReasonedRecipe& recipe, const ProposalOptions& options);

int64_t warmup_of(const ExpectedRun& run);  // updates
double rounded_down(double value);          // to two digits

// The seconds that updates take; validations and checkpoints take the rest of the minutes.
double seconds_of_updates(const ProposalOptions& options);

// ConfigError, which says how many minutes would do, unless a few updates and a validation are done in the time.
struct LeastWork {
  double tokens_per_second = 0.0;
  double batch_tokens = 0.0, validation_tokens = 0.0;
};
void require_time(const ProposalOptions& options, const LeastWork& work);

// FormatError for text, or validation text, that nothing can be learned from.
void require_text_to_learn(const TextFigures& text, int64_t least_bytes, const ProposalOptions& options);

// An encoder's rate falls with its width; `at_128` is that of a width of 128.
double encoder_peak(int64_t width, double at_128);

// Keys of [model] and [tokenizer], and the tables [schedule] and [training].
void add_size(ReasonedRecipe& recipe, const SizeChoice& choice, const LearningRules& rules, double tokens);
void add_dropout(ReasonedRecipe& recipe, const ExpectedRun& run);
void add_vocabulary(ReasonedRecipe& recipe, const std::vector<SubwordFigures>& tried);
void add_schedule(ReasonedRecipe& recipe, const ExpectedRun& run, double peak, double minutes,
                  const std::string& why = "The best rate falls with the width, and where the warm-up is short.");
void add_training(ReasonedRecipe& recipe, const ExpectedRun& run, double smoothing, double minutes);
// Ten in a run, so that little time goes into them.
int64_t validation_every(const ExpectedRun& run);

}  // namespace heed
