// The translations of a whole text, in parts that outlive the process.
#pragma once

#include "api/inside/run_training.h"
#include "train/stages/staged_recipe.h"

namespace heed {

enum class StageEnd : uint8_t { finished, stopped };

// Where a stage keeps what it has translated until it is finished.
std::filesystem::path parts_of(const StagesFolder& folder, const RecipeStage& stage);

// Writes "source" and "target" to the stage's folder. Collective: the ranks share the lines. What a stopped or killed
// stage has translated is not translated again.
StageEnd run_translate_stage(const RecipeStage& stage, const StagesFolder& folder, const TrainOptions& options,
                             const TrainingMeans& means);

}  // namespace heed
