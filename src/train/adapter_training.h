// Training an adapter: which weights belong to its base, and where they come from.
#pragma once

#include <vector>

#include "checkpoint/model_directory.h"
#include "nn/adapters.h"
#include "nn/trainables.h"
#include "train/starting_model.h"

namespace heed {

// What was taken from the starting model as it is belongs to the base where an adapter is trained; the rest is trained.
std::vector<WeightPart> parts_after(const TakenWeights& taken, const Weights& weights, const AdapterConfig& adapter);
// The same for a run that goes on.
std::vector<WeightPart> parts_of_run(const ModelFolder& folder, const Weights& weights, const AdapterConfig& adapter);

// Says which base an adapter belongs to.
void save_adapter_of(const ModelFolder& folder, const AdapterConfig& adapter, const std::filesystem::path& base,
                     const StartingModel& model, const TakenWeights& taken, const Weights& weights);
// An adapter is of no use without its base, so the base has to be there when its run goes on, and is still the same.
void load_base_of(const ModelFolder& folder, Backend& backend, Trainables& trainables);

}  // namespace heed
