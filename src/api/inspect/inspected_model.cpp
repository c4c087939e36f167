#include "api/inspect/inspected_model.h"

#include "checkpoint/model_directory.h"
#include "interchange/foreign_source.h"
#include "train/learner/weight_treatments.h"
#include "train/recipe/recipe.h"
#include "train/stages/staged_recipe.h"

namespace heed {
namespace {

ModelConfig config_of_recipe(const Recipe& recipe, const std::string& path) {
  try {
    return sized_model(recipe, path);
  } catch (const IoError&) {
    return recipe.model;
  }
}

// The tokenizers of a run that begins from another model, as far as they are there.
Tokenizers tokenizers_of(const Recipe& recipe, const StartingModel& from) {
  Tokenizers tokenizers = starting_tokenizers(recipe, from);
  for (const std::string& file : tokenizer_files(recipe)) {
    if (!std::filesystem::exists(file)) {
      return {};
    }
    tokenizers.push_back(load_tokenizer(file));
  }
  return tokenizers;
}

// Labels that only the training text names are taken to be those of the other model.
void assume_labels(Recipe& recipe, InspectedModel& model) {
  const std::vector<std::string>& labels = model.from->config().labels;
  if (recipe.model.labels.empty() && recipe.model.head == model.from->config().head && !labels.empty()) {
    recipe.model.labels = labels;
    model.notes.push_back(fmt::format("model.labels: assumed to be the {} of {}", labels.size(), recipe.training.from));
  }
}

std::string became(const ForeignWeights::Conversion& made) {
  if (made.to == StoredType::i8 || made.to == StoredType::u8) {
    return "stay what they are";
  }
  return fmt::format("become f16, since heed's products lack such blocks, relative error {:.1e}", made.relative_error);
}

// What is passed over. A model may be inspected without its tokenizer.
std::vector<std::string> notes_of(const std::string& path, const ForeignModel& foreign) {
  try {
    return foreign_notes(foreign, read_foreign_tokenizers(path, foreign));
  } catch (const Error& error) {
    std::vector<std::string> notes = foreign_notes(foreign, {});
    notes.push_back(fmt::format("no tokenizer: {}", error.what()));
    return notes;
  }
}

InspectedModel inspected_foreign_model(const std::string& path) {
  const ForeignModel foreign = read_foreign_model(path);
  InspectedModel model;
  model.config = foreign.config;
  model.foreign = open_foreign_weights(foreign);
  model.notes.push_back("family " + foreign.family);
  for (const SettingOrigin& origin : foreign.origins) {
    model.notes.push_back(
        fmt::format("{}: {} = {}{}", origin.file, origin.key, origin.value, origin.is_default ? " (default)" : ""));
  }
  const std::vector<std::string> notes = notes_of(path, foreign);
  model.notes.insert(model.notes.end(), notes.begin(), notes.end());
  for (const ForeignWeights::Conversion& made : model.foreign->conversions()) {
    model.notes.push_back(fmt::format("{} matri{} in {} {}", made.tensors, made.tensors == 1 ? "x" : "ces",
                                      name_of(made.from), became(made)));
  }
  return model;
}

// The recipe or, where it has stages, that of the last training, with a note for each stage.
Recipe inspected_recipe(const std::string& path, const std::vector<std::string>& overrides,
                        std::vector<std::string>& notes) {
  if (!has_stages(path)) {
    return read_recipe(path, overrides);
  }
  const StagedRecipe staged(path, overrides, "");
  for (const RecipeStage& stage : staged.stages()) {
    const std::string of = stage.from.empty() ? stage.model : stage.from;
    notes.push_back(fmt::format("stage {}: {}{}", stage.name, name_of(stage.kind), of.empty() ? "" : " from " + of));
  }
  const RecipeStage& last = staged.training_of(staged.last_model());
  require<ConfigError>(last.kind == StageKind::train, path, "no stage trains the model that it ends with: inspect {}",
                       last.model);
  notes.push_back(fmt::format("of stage {}:", last.name));
  return staged.sized(last);
}

}  // namespace

InspectedModel inspected_model(const std::string& path, const std::vector<std::string>& overrides) {
  if (is_foreign_model(path)) {
    require<ConfigError>(overrides.empty(), path, "is a trained model, whose settings cannot be changed");
    return inspected_foreign_model(path);
  }
  if (std::filesystem::is_directory(path)) {
    require<ConfigError>(overrides.empty(), path, "is a trained model, whose settings cannot be changed");
    const ModelFolder folder{path};
    InspectedModel model;
    const ModelDescription description = load_description(folder);
    model.config = description.config;
    if (const std::string decoding = describe(description.decoding); !decoding.empty()) {
      model.notes.push_back("decoded by default with " + decoding);
    }
    model.weights = folder.weights();
    if (holds_adapter(folder)) {
      model.adapter = folder;
    }
    return model;
  }
  InspectedModel model;
  Recipe recipe = inspected_recipe(path, overrides, model.notes);
  if (!recipe.training.from.empty()) {
    model.from =
        std::make_shared<const StartingModel>(ModelFolder{recipe.training.from}, starting_weights(recipe.adapter));
    assume_labels(recipe, model);
    model.tokenizers = tokenizers_of(recipe, *model.from);
  }
  model.config = config_of_recipe(recipe, path);
  model.recipe = recipe;
  for (const VocabularyKey& vocabulary : vocabularies_of(recipe.model)) {
    if (*vocabulary.size == 0) {
      model.open.push_back(vocabulary.key);
    }
  }
  return model;
}

WeightsAtStart weights_at_start(const InspectedModel& model, const ModelConfig& sized, Weights& weights) {
  if (!model.recipe) {
    return {};
  }
  const Recipe& recipe = *model.recipe;
  if (model.from == nullptr) {
    return {{}, planned_treatments(recipe, weights), {}};
  }
  validate_adapter(recipe);
  if (recipe.adapter.rank > 0) {
    add_adapters(weights, recipe.adapter);
  }
  ModelConfig config = model.config;
  config.source_vocabulary = sized.source_vocabulary;
  config.target_vocabulary = sized.target_vocabulary;
  WeightsAtStart start{model.from->match(weights, config, model.tokenizers), {}, {}};
  start.treatments = treatments_after(start.taken, recipe, weights);
  start.warning = frozen_at_random(start.taken, weights, start.treatments);
  return start;
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
