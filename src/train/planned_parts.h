// What a recipe's training does with each weight, before its run begins.
#pragma once

#include <vector>

#include "nn/trainables.h"
#include "train/recipe.h"

namespace heed {

// Registers the recipe's adapters, too. Assumes that everything else is then taken from the base. ConfigError for a
// pattern that matches nothing.
std::vector<WeightPart> planned_parts(const Recipe& recipe, Weights& weights);

}  // namespace heed
