// Training an adapter: which base it belongs to.
#pragma once

#include <filesystem>

#include "checkpoint/model_directory.h"
#include "nn/weights/adapters.h"
#include "nn/weights/trainables.h"
#include "train/learner/starting_model.h"

namespace heed {

// Says which base an adapter belongs to.
void save_adapter_of(const ModelFolder& folder, const AdapterConfig& adapter, const std::filesystem::path& base,
                     const StartingModel& model, const TakenWeights& taken, const Weights& weights);
// When the run of an adapter is resumed: its base must still be there and unchanged, since the adapter is of no use
// without it.
void load_base_of(const ModelFolder& folder, Backend& backend, Trainables& trainables);

}  // namespace heed
