// Checks of a run's folder before the run starts or is resumed.
#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/model_directory.h"
#include "train/recipe/recipe.h"

namespace heed {

// ConfigError when the folder holds a run, or checkpoints of one.
void require_no_run(const ModelFolder& folder);

// The recipe that the run stored.
Recipe recipe_of_run(const ModelFolder& folder);

// ConfigError, naming the key, when a setting changed that a resumed run may not change. It may change when it ends,
// what it reports, and which checkpoints it keeps.
void require_same_run(const ModelFolder& folder, const Recipe& before, Recipe now);
// FormatError when config.json does not describe the recipe's model.
void require_same_model(const ModelFolder& folder, const Recipe& recipe, const ModelDescription& description);

}  // namespace heed
