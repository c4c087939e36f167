// What a recipe's training does with each weight, before its run begins.
#pragma once

#include <string>
#include <vector>

#include "nn/weights/trainables.h"
#include "train/learner/starting_model.h"
#include "train/recipe/recipe.h"

namespace heed {

// Registers the recipe's adapters, too. Assumes that everything else is then taken from the base. ConfigError for a
// pattern that matches nothing.
std::vector<WeightPart> planned_parts(const Recipe& recipe, Weights& weights);

// Freezes the trained ones that match training.freeze. ConfigError for a pattern that matches nothing.
void freeze_parts(const Recipe& recipe, const Weights& weights, std::vector<WeightPart>& parts);
// ConfigError when there are none.
void require_trained(const std::vector<WeightPart>& parts);

// ConfigError for what is wrong with [adapter] and training.freeze, before any text is read.
void check_parts(const Recipe& recipe);

// The tokenizers that a run takes from the model that it begins from; none where the recipe has its own. ConfigError
// when they don't go with the recipe.
Tokenizers starting_tokenizers(const Recipe& recipe, const StartingModel& model);

}  // namespace heed
