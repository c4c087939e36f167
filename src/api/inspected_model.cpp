#include "api/inspected_model.h"

#include "base/files.h"
#include "checkpoint/model_directory.h"
#include "train/recipe.h"

namespace heed {
namespace {

ModelConfig config_of_recipe(const Recipe& recipe, const std::string& path) {
  try {
    return sized_model(recipe, path);
  } catch (const IoError&) {
    return recipe.model;
  }
}

}  // namespace

InspectedModel inspected_model(const std::string& path, const std::vector<std::string>& overrides) {
  if (std::filesystem::is_directory(path)) {
    require<ConfigError>(overrides.empty(), path, "is a trained model, whose settings cannot be changed");
    const ModelFolder folder{path};
    return {load_description(folder).config, {}, folder.weights(), std::nullopt};
  }
  Recipe recipe = parse_recipe(read_file(path), path, overrides);
  InspectedModel model{config_of_recipe(recipe, path), {}, {}, recipe};
  for (const VocabularyKey& vocabulary : vocabularies_of(recipe.model)) {
    if (*vocabulary.size == 0) {
      model.open.push_back(vocabulary.key);
    }
  }
  return model;
}

std::vector<VocabularyKey> vocabularies_of(ModelConfig& config) {
  std::vector<VocabularyKey> all;
  if (config.architecture != Architecture::causal_lm) {
    all.push_back({"source_vocabulary", &config.source_vocabulary});
  }
  if (config.architecture != Architecture::encoder) {
    all.push_back({"target_vocabulary", &config.target_vocabulary});
  }
  return all;
}

}  // namespace heed
