#include "train/learner/adapter_training.h"

#include <algorithm>

#include "checkpoint/adapter.h"
#include "checkpoint/weights.h"

namespace heed {

void save_adapter_of(const ModelFolder& folder, const AdapterConfig& adapter, const std::filesystem::path& base,
                     const StartingModel& model, const TakenWeights& taken, const Weights& weights) {
  AdapterDescription description{
      .base = std::filesystem::relative(base, folder.path),
      .checksum = model.checksum(),
      .rank = adapter.rank,
      .alpha = adapter.alpha,
      .matrices = {},
      .whole = {},
      .renamed = {},
  };
  for (const Weight& weight : weights.all()) {
    if (weight.low_rank() != nullptr) {
      description.matrices.push_back(weight.name());
    }
    if (!is_adapter(weight) && std::ranges::count(taken.whole, weight.name()) == 0) {
      description.whole.push_back(weight.name());
    }
  }
  for (const RenamedWeight& one : taken.renamed) {
    if (std::ranges::count(taken.whole, one.name) > 0) {
      description.renamed.push_back(one);
    }
  }
  save_adapter(folder, description);
}

void load_base_of(const ModelFolder& folder, Backend& backend, Trainables& trainables) {
  const AdapterDescription description = load_adapter(folder);
  const WidenedWeights base = open_base(folder, description);
  const std::deque<Weight>& weights = trainables.weights().all();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (trainables.treatment_of(i) == WeightTreatment::of_base) {
      base.store_base(name_there(description.renamed, weights[i].name()), backend, trainables, i);
    }
  }
}

}  // namespace heed
