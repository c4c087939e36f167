// Runs a recipe of several stages, each by what runs it alone: a training, a translator, a quantization, a shortlist.
#pragma once

#include "api/inside/run_training.h"
#include "train/stages/staged_recipe.h"

namespace heed {

// The options whose recipe has the stages. Collective. A stage that is finished is not run again, one that was stopped
// goes on, and in the end the folder is a model directory: that of the last stage that leaves a model. `means` has the
// options' device and threads.
TrainResult run_stages(const TrainOptions& options, const TrainingMeans& means);

}  // namespace heed
