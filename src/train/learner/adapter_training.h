// Training an adapter: which weights belong to its base, and where they come from.
#pragma once

#include <vector>

#include "checkpoint/model_directory.h"
#include "nn/weights/adapters.h"
#include "nn/weights/trainables.h"
#include "train/learner/starting_model.h"

namespace heed {

// Where an adapter is trained, the weights that were taken unchanged from the starting model belong to the base. All
// others are trained.
std::vector<WeightPart> parts_after(const TakenWeights& taken, const Weights& weights, const AdapterConfig& adapter);
// The same for a run that is resumed.
std::vector<WeightPart> parts_of_run(const ModelFolder& folder, const Weights& weights, const AdapterConfig& adapter);

// Says which base an adapter belongs to.
void save_adapter_of(const ModelFolder& folder, const AdapterConfig& adapter, const std::filesystem::path& base,
                     const StartingModel& model, const TakenWeights& taken, const Weights& weights);
// When the run of an adapter is resumed: its base must still be there and unchanged, since the adapter is of no use
// without it.
void load_base_of(const ModelFolder& folder, Backend& backend, Trainables& trainables);

}  // namespace heed
