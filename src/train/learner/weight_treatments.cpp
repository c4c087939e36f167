#include "train/learner/weight_treatments.h"

#include <algorithm>
#include <optional>

#include "checkpoint/adapter.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/stored_weight.h"
#include "checkpoint/weights.h"
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

// None where no adapter is trained, or its base has no weights yet, because a run or a stage is still to write them:
// they count as floats.
std::optional<WidenedWeights> weights_of_base(const Recipe& recipe) {
  if (recipe.training.from.empty()) {
    return std::nullopt;
  }
  const ModelFolder folder{recipe.training.from};
  require_whole_model(folder);
  if (recipe.adapter.rank == 0 || !has_weights(folder)) {
    return std::nullopt;
  }
  return open_widened_weights(folder, load_description(folder).config);
}

bool is_packed_there(const WidenedWeights& base, const Weight& weight) {
  const StoredTensor* const floats = base.floats->find(weight.name());
  return floats != nullptr && floats->shape == stored_shape(weight.shape()) && base.is_packed(weight.name());
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

void store_planned_base(const Recipe& recipe, Backend& backend, Trainables& trainables) {
  const std::optional<WidenedWeights> base = weights_of_base(recipe);
  const std::deque<Weight>& weights = trainables.weights().all();
  for (size_t i = 0; base && i < weights.size(); ++i) {
    if (trainables.treatment_of(i) == WeightTreatment::of_base && is_packed_there(*base, weights[i])) {
      base->store_base(weights[i].name(), backend, trainables, i);
    }
  }
}

BaseBytes planned_base_bytes(const Recipe& recipe, const Weights& weights,
                             const std::vector<WeightTreatment>& treatments) {
  const std::optional<WidenedWeights> base = weights_of_base(recipe);
  const int64_t size = size_of(storage_of(recipe.training.precision));
  BaseBytes bytes;
  for (size_t i = 0; i < treatments.size(); ++i) {
    const Weight& weight = weights.all()[i];
    if (treatments[i] != WeightTreatment::of_base) {
      continue;
    }
    const int64_t unpacked = weight.shape().elements() * size;
    if (base && is_packed_there(*base, weight)) {
      bytes.held += stored_bytes(base->stored->at(weight.name()), *base->stored);
      bytes.largest_unpacked = std::max(bytes.largest_unpacked, unpacked);
    } else {
      bytes.held += unpacked;
    }
  }
  return bytes;
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
  if (model_of_tokenizers(recipe) != model.folder().path.string()) {
    return {};
  }
  Tokenizers tokenizers = model.tokenizers_for(recipe.model.architecture);
  // Two tokenizers may number the tokens of one table (Marian).
  const bool has_one_table = tokenizers.front() == tokenizers.back() || model.config().tying == Tying::all;
  require<ConfigError>(recipe.model.tying != Tying::all || has_one_table, "recipe",
                       "model.tie is \"all\", which needs one tokenizer for both, but the model in {} has two",
                       model.folder().path.string());
  const auto* const masked = recipe.find<MaskedModelRecipe>();
  require<ConfigError>(masked == nullptr || tokenizers.front()->find(show_piece(masked->mask)),
                       model.folder().path.string(),
                       "its tokenizer, which the run would take, has no mask token \"{}\" (tokenizer.mask): set "
                       "training.from_tokenizers to false",
                       masked == nullptr ? "" : masked->mask);
  return tokenizers;
}

}  // namespace heed
