// What training does with each weight.
#pragma once

#include <string>
#include <vector>

#include "nn/weights/trainables.h"
#include "train/learner/starting_model.h"
#include "train/recipe/recipe.h"

namespace heed {

// Before a run begins. Registers the recipe's adapters, too, and assumes that everything else is then taken from the
// base. ConfigError for a pattern in training.freeze that matches nothing.
std::vector<WeightTreatment> planned_treatments(const Recipe& recipe, Weights& weights);

// Holds those of the base's weights that are packed in the file of the model that the run begins from. Assumes, too, that
// names agree.
void store_planned_base(const Recipe& recipe, Backend& backend, Trainables& trainables);
// What the weights of the base take, and the largest of those that products unpack, in `storage`.
struct BaseBytes {
  int64_t held = 0, largest_unpacked = 0;
};
// FormatError where training.from names an adapter.
BaseBytes planned_base_bytes(const Recipe& recipe, const Weights& weights,
                             const std::vector<WeightTreatment>& treatments);

// Where an adapter is trained, the weights that were taken unchanged from the starting model belong to its base. All
// others are trained, unless training.freeze names them. ConfigError, as above, and when no weight is trained.
std::vector<WeightTreatment> treatments_after(const TakenWeights& taken, const Recipe& recipe, const Weights& weights);
// The same for a run that is resumed.
std::vector<WeightTreatment> treatments_of_run(const ModelFolder& folder, const Recipe& recipe, const Weights& weights);

// ConfigError for what is wrong with [adapter] and training.freeze, before any text is read.
void check_treatments(const Recipe& recipe);

// The tokenizers that a run takes from the model that it begins from; none where the recipe has its own. ConfigError
// when they don't go with the recipe.
Tokenizers starting_tokenizers(const Recipe& recipe, const StartingModel& model);

}  // namespace heed
