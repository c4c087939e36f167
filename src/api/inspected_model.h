// The model that a recipe or a model directory describes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/recipe.h"

namespace heed {

struct InspectedModel {
  ModelConfig config;             // a vocabulary's size is 0 if it depends on a text or tokenizer that does not exist
  std::vector<std::string> open;  // the keys that the recipe leaves to its tokenizers
  std::filesystem::path weights;  // of a model directory; empty for a recipe
  std::optional<Recipe> recipe;   // none for a model directory
};

// ConfigError for overrides of a model directory.
InspectedModel inspected_model(const std::string& path, const std::vector<std::string>& overrides);

// A vocabulary of the architecture, by the name of its key.
struct VocabularyKey {
  std::string key;
  int64_t* size;
};
std::vector<VocabularyKey> vocabularies_of(ModelConfig& config);

}  // namespace heed
