// One training, from a recipe that is read to its end.
#pragma once

#include "heed/types/train.h"
#include "kernels/kernels.h"
#include "ranks/ranks.h"
#include "train/recipe/recipe.h"

namespace heed {

// What trainings one after the other have in common.
struct TrainingMeans {
  Backend& backend;
  const Ranks& ranks;
  TrainListener& listener;
};

// ConfigError for several ranks on a device that only one can use.
void require_device_of_ranks(const Ranks& ranks, const std::string& device);
// Collective.
TrainResult run_training(const TrainingMeans& means, const Recipe& recipe, const std::string& output, TrainStart start);

}  // namespace heed
