#include "train/learner/planned_parts.h"

#include <algorithm>

#include "checkpoint/adapter.h"
#include "models/any_model.h"
#include "train/recipe/masked_model_recipe.h"

namespace heed {
namespace {

void freeze_parts(const Recipe& recipe, const Weights& weights, std::vector<WeightPart>& parts) {
  const std::vector<bool> frozen = matching_weights(weights, recipe.training.freeze, "training.freeze");
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = frozen[i] && parts[i] == WeightPart::trained ? WeightPart::frozen : parts[i];
  }
}

}  // namespace

std::vector<WeightPart> planned_parts(const Recipe& recipe, Weights& weights) {
  const bool adapts = recipe.adapter.rank > 0;
  validate_adapter(recipe);
  if (adapts) {
    add_adapters(weights, recipe.adapter);
  }
  std::vector<WeightPart> parts;
  for (const Weight& weight : weights.all()) {
    parts.push_back(adapts && !is_adapter(weight) ? WeightPart::of_base : WeightPart::trained);
  }
  freeze_parts(recipe, weights, parts);
  return parts;
}

std::vector<WeightPart> parts_after(const TakenWeights& taken, const Recipe& recipe, const Weights& weights) {
  std::vector<WeightPart> parts;
  parts.reserve(weights.all().size());
  for (const Weight& weight : weights.all()) {
    const bool of_base = recipe.adapter.rank > 0 && std::ranges::count(taken.whole, weight.name()) > 0;
    parts.push_back(of_base ? WeightPart::of_base : WeightPart::trained);
  }
  freeze_parts(recipe, weights, parts);
  require<ConfigError>(std::ranges::count(parts, WeightPart::trained) > 0, "recipe",
                       "training.freeze leaves no weight to train");
  return parts;
}

std::vector<WeightPart> parts_of_run(const ModelFolder& folder, const Recipe& recipe, const Weights& weights) {
  TakenWeights taken;
  if (recipe.adapter.rank > 0) {
    const AdapterDescription description = load_adapter(folder);
    for (const Weight& weight : weights.all()) {
      if (!is_adapter(weight) && std::ranges::count(description.whole, weight.name()) == 0) {
        taken.whole.push_back(weight.name());
      }
    }
  }
  return parts_after(taken, recipe, weights);
}

// Names, and the shapes of what may have an adapter, do not depend on the vocabularies.
void check_parts(const Recipe& recipe) {
  Weights weights;
  const AnyModel model(Scope(weights), model_of_any_text(recipe));
  planned_parts(recipe, weights);
}

Tokenizers starting_tokenizers(const Recipe& recipe, const StartingModel& model) {
  if (!takes_tokenizers(recipe)) {
    return {};
  }
  Tokenizers tokenizers = model.tokenizers_for(recipe.model.architecture);
  require<ConfigError>(recipe.model.tying != Tying::all || tokenizers.front() == tokenizers.back(), "recipe",
                       "model.tie is \"all\", which needs one tokenizer for both, but the model in {} has two",
                       recipe.training.from);
  const auto* const masked = recipe.find<MaskedModelRecipe>();
  require<ConfigError>(masked == nullptr || tokenizers.front()->find(show_piece(masked->mask)), recipe.training.from,
                       "its tokenizer, which the run would take, has no mask token \"{}\" (tokenizer.mask): set "
                       "training.from_tokenizers to false",
                       masked == nullptr ? "" : masked->mask);
  return tokenizers;
}

}  // namespace heed
