// A recipe that goes on from a model which somebody trained: a rate far below that of a fresh model, few passes, and
// adapters where the memory is not enough for all weights.
#pragma once

#include <functional>
#include <string>

#include "propose/proposal.h"
#include "propose/reasoned_recipe.h"
#include "text/tokenizer.h"
#include "train/recipe/recipe.h"

namespace heed {

// What the recipe of a task says about its text.
struct FineTuningText {
  std::string_view task;  // in [training]
  Architecture architecture = Architecture::encoder;
  double passes = 3.0;
  double smoothing = 0.0;
  int64_t examples = 0;  // lines, texts or sentences, for the remark
  // The text's tokens as this tokenizer of the model divides it, that of the target where there are two.
  std::function<double(const Tokenizer& tokenizer)> tokens;
  std::function<void(ReasonedRecipe& recipe)> add_model;  // keys of [model]; empty: it has none
  // [data], for a model that takes so many tokens.
  std::function<void(ReasonedRecipe& recipe, int64_t max_length)> add_data;
  std::function<void(ReasonedRecipe& recipe)> add_validation;  // beside validation.every; may be empty
  // A batch has so many sequences, or so many tokens where that is 0; a sequence is a context, or an example where
  // there is no context.
  int64_t batch_examples = 0, batch_tokens = 0;
  std::function<int64_t(int64_t max_length)> context;  // empty: there is none
};

std::string propose_fine_tuning(const ProposalOptions& options, const FineTuningText& text);

}  // namespace heed
