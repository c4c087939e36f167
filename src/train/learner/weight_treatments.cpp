#include "train/learner/weight_treatments.h"

#include <algorithm>

#include "checkpoint/adapter.h"
#include "models/any_model.h"
#include "train/recipe/masked_model_recipe.h"

namespace heed {
namespace {

void freeze_weights(const Recipe& recipe, const Weights& weights, std::vector<WeightTreatment>& treatments) {
  const std::vector<bool> frozen = matching_weights(weights, recipe.training.freeze, "training.freeze");
  for (size_t i = 0; i < treatments.size(); ++i) {
    treatments[i] = frozen[i] && treatments[i] == WeightTreatment::trained ? WeightTreatment::frozen : treatments[i];
  }
}

}  // namespace

std::vector<WeightTreatment> planned_treatments(const Recipe& recipe, Weights& weights) {
  const bool adapts = recipe.adapter.rank > 0;
  validate_adapter(recipe);
  if (adapts) {
    add_adapters(weights, recipe.adapter);
  }
  std::vector<WeightTreatment> treatments;
  for (const Weight& weight : weights.all()) {
    treatments.push_back(adapts && !is_adapter(weight) ? WeightTreatment::of_base : WeightTreatment::trained);
  }
  freeze_weights(recipe, weights, treatments);
  return treatments;
}

std::vector<WeightTreatment> treatments_after(const TakenWeights& taken, const Recipe& recipe, const Weights& weights) {
  std::vector<WeightTreatment> treatments;
  treatments.reserve(weights.all().size());
  for (const Weight& weight : weights.all()) {
    const bool of_base = recipe.adapter.rank > 0 && std::ranges::count(taken.whole, weight.name()) > 0;
    treatments.push_back(of_base ? WeightTreatment::of_base : WeightTreatment::trained);
  }
  freeze_weights(recipe, weights, treatments);
  require<ConfigError>(std::ranges::count(treatments, WeightTreatment::trained) > 0, "recipe",
                       "training.freeze leaves no weight to train");
  return treatments;
}

std::vector<WeightTreatment> treatments_of_run(const ModelFolder& folder, const Recipe& recipe,
                                               const Weights& weights) {
  TakenWeights taken;
  if (recipe.adapter.rank > 0) {
    const AdapterDescription description = load_adapter(folder);
    for (const Weight& weight : weights.all()) {
      if (!is_adapter(weight) && std::ranges::count(description.whole, weight.name()) == 0) {
        taken.whole.push_back(weight.name());
      }
    }
  }
  return treatments_after(taken, recipe, weights);
}

// Names, and the shapes of what may have an adapter, do not depend on the vocabularies.
void check_treatments(const Recipe& recipe) {
  Weights weights;
  const AnyModel model(Scope(weights), model_of_any_text(recipe));
  planned_treatments(recipe, weights);
}

Tokenizers starting_tokenizers(const Recipe& recipe, const StartingModel& model) {
  if (!takes_tokenizers(recipe)) {
    return {};
  }
  Tokenizers tokenizers = model.tokenizers_for(recipe.model.architecture);
  // Two tokenizers may number the tokens of one table (Marian).
  const bool has_one_table = tokenizers.front() == tokenizers.back() || model.config().tying == Tying::all;
  require<ConfigError>(recipe.model.tying != Tying::all || has_one_table, "recipe",
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
