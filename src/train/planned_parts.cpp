#include "train/planned_parts.h"

namespace heed {

std::vector<WeightPart> planned_parts(const Recipe& recipe, Weights& weights) {
  const bool adapts = recipe.adapter.rank > 0;
  validate_adapter(recipe);
  if (adapts) {
    add_adapters(weights, recipe.adapter);
  }
  const std::vector<bool> frozen = matching_weights(weights, recipe.training.freeze, "training.freeze");
  std::vector<WeightPart> parts;
  for (size_t i = 0; i < frozen.size(); ++i) {
    const bool of_base = adapts && !is_adapter(weights.all()[i]);
    parts.push_back(of_base ? WeightPart::of_base : frozen[i] ? WeightPart::frozen : WeightPart::trained);
  }
  return parts;
}

}  // namespace heed
