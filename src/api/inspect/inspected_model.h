// The model that a recipe or a model directory describes.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interchange/foreign_weights.h"
#include "train/learner/starting_model.h"
#include "train/recipe/recipe.h"

namespace heed {

struct InspectedModel {
  ModelConfig config;             // a vocabulary's size is 0 if it depends on a text or tokenizer that does not exist
  std::vector<std::string> open;  // the keys that the recipe leaves to its tokenizers
  std::filesystem::path weights;  // of a model directory; empty for a recipe
  std::shared_ptr<const ForeignWeights> foreign;  // another program's weights; null for all else
  std::optional<ModelFolder> adapter;             // a model directory that holds one
  std::optional<Recipe> recipe;                   // none for a model directory
  std::shared_ptr<const StartingModel> from;      // that the recipe's training begins from; null: none
  Tokenizers tokenizers;                          // of such a run; none while they are still to be learned
  std::vector<std::string> notes;                 // what had to be assumed
};

// ConfigError for overrides of a model directory.
InspectedModel inspected_model(const std::string& path, const std::vector<std::string>& overrides);

// What a recipe's training does with each weight before its first update.
struct WeightsAtStart {
  TakenWeights taken;                       // of the model that it begins from
  std::vector<WeightTreatment> treatments;  // none of a model directory
  std::string warning;                      // of random values that stay; empty: none
};
// The weights of a recipe's model with the vocabularies of `sized`. Registers the adapters, too.
WeightsAtStart weights_at_start(const InspectedModel& model, const ModelConfig& sized, Weights& weights);

// A vocabulary of the architecture, by the name of its key.
struct VocabularyKey {
  std::string key;
  int64_t* size;
};
std::vector<VocabularyKey> vocabularies_of(ModelConfig& config);

}  // namespace heed
