// Training a model from a recipe.
#pragma once

#include "heed/types/train.h"

namespace heed {

// Leaves a model directory behind, or, when the listener stops it, a run that can be resumed.
TrainResult train(const TrainOptions& options, TrainListener& listener);

}  // namespace heed
