// The weights in model.safetensors when a run ends.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "train/learner/training_state.h"
#include "train/recipe/recipe.h"

namespace heed {

// The validated checkpoints that the final weights would be made of if the run ended now; none when the rules ask for
// the run's last weights.
std::vector<int64_t> final_updates(const CheckpointRecipe& rules, const std::vector<Candidate>& candidates);

// What the weights of a run's checkpoints belong to.
struct RunWeights {
  const ModelConfig& config;
  const AdapterConfig& adapter;
  std::vector<WeightTreatment> treatments;
};

// Writes the mean of the checkpoints' weights, and names their updates in its metadata.
void write_average(Backend& backend, const RunWeights& run, const Checkpoints& checkpoints,
                   std::span<const int64_t> updates, const std::filesystem::path& path);

}  // namespace heed
